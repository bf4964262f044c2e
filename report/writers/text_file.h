/* Ends a text that a writer has put into a stream. Used by one thread. */
#ifndef TEXT_FILE_H
#define TEXT_FILE_H

#include <errno.h>
#include <stdio.h>

/* Writes the bytes that are still in the buffer. 0, or -errno of the write that failed (-ENOSPC: the disk is full).
 * If an earlier write failed, stdio has kept only that it failed; one byte more, which spoils nothing then, finds
 * out why. -EIO: that byte was written. */
static inline int text_file_flush(FILE *out)
{
	errno = 0;
	if (fflush(out) == 0) {
		if (!ferror(out))
			return 0;
		putc('\n', out);
		fflush(out);
	}
	return errno ? -errno : -EIO;
}

#endif
