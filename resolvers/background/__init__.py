"""Background work: jobs, write-behind buffers and email."""
