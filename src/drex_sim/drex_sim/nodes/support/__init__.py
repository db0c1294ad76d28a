"""What every D-REX node is built from."""
