"""Work that goes on after a response: jobs, buffered writes, mail."""
