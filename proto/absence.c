#include "absence.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "handshake.h"

const char *absence_text(const struct guest_absence *absence, char *text, size_t size)
{
	unsigned long long file = absence->file_limit_bytes, memory = absence->memory_limit_bytes;
	char least[32] = "";

	if (absence->needed_mib)
		snprintf(least, sizeof(least), " to %u MiB or more", absence->needed_mib);
	if (absence->error == EFBIG)
		snprintf(text, size,
			 ABSENCE_FAILED
			 "its limit of file sizes (ulimit -f, %llu bytes) is below what its shared "
			 "memory needs: raise it%s",
			 file, least);
	else if (absence->error == ENOMEM && memory != UINT64_MAX)
		snprintf(text, size,
			 ABSENCE_FAILED "its limit of virtual memory (ulimit -v, %llu bytes, or a "
					"scheduler's h_vmem) "
					"leaves too little room beside the program: raise it%s",
			 memory, least);
	else if (absence->error == EAGAIN)
		snprintf(text, size,
			 ABSENCE_FAILED
			 "it locks its memory (mlockall), and its limit of locked memory "
			 "(ulimit -l) leaves no room for its shared memory: raise it");
	else if (absence->error == EMFILE || absence->error == ENFILE)
		snprintf(text, size,
			 ABSENCE_FAILED "it has no file descriptor left (ulimit -n): raise it");
	else if (absence->error == EPERM || absence->error == ENOSYS || absence->error == EACCES)
		snprintf(text, size,
			 ABSENCE_FAILED "memfd_create() is not allowed to it (seccomp, or an old "
					"kernel): %s",
			 strerror((int)absence->error));
	else
		snprintf(text, size, ABSENCE_FAILED "its shared memory could not be made: %s",
			 strerror((int)absence->error));
	return text;
}
