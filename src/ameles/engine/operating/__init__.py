"""What an operator does with a stream besides running it: restore, retire, compact."""
