/* Ends a text that a writer has put into a stream. Used by one thread. */
#ifndef TEXT_FILE_H
#define TEXT_FILE_H

#include <errno.h>
#include <stdio.h>

/* Writes the bytes that are still in the buffer. 0, or -errno of the failed write (-ENOSPC: the disk is full). After an
 * earlier failed write stdio has no errno any more. One more byte, which spoils nothing then, fails for the same
 * reason. -EIO: that byte was written. */
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
