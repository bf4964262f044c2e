#include "python_texts.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "proto/sparse_memory.h"

struct python_texts *python_texts_own(struct python_texts **texts)
{
	int saved_errno = errno;

	if (!*texts)
		*texts = sparse_memory_map(sizeof(**texts), PROT_READ | PROT_WRITE);
	errno = saved_errno;
	return *texts;
}

void python_texts_unmap(struct python_texts **texts)
{
	if (*texts)
		munmap(*texts, sizeof(**texts));
	*texts = NULL;
}
