#include "file_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/batch/message.h"

void file_memory_fini(struct file_memory *memory)
{
	free(memory->files);
	free(memory->unloaded);
}

static uint32_t kept(uint32_t nr, uint32_t most)
{
	return nr < most ? nr : most;
}

int file_memory_keep(struct file_memory *memory, const struct known_file *file)
{
	if (!file->identity)
		return 0;
	if (!memory->files)
		memory->files = calloc(FILE_MEMORY_FILES, sizeof(*memory->files));
	if (!memory->files)
		return -ENOMEM;
	memory->files[memory->nr_files % FILE_MEMORY_FILES] = *file;
	/* It may wrap, but stays above the number of entries then. */
	if (++memory->nr_files == 0)
		memory->nr_files = FILE_MEMORY_FILES;
	return 0;
}

const struct known_file *file_memory_find(const struct file_memory *memory, uint64_t identity,
					  uint32_t owner)
{
	for (uint32_t i = 0; identity && i < kept(memory->nr_files, FILE_MEMORY_FILES); i++)
		if (memory->files[i].identity == identity && memory->files[i].owner == owner)
			return &memory->files[i];
	return NULL;
}

bool file_memory_is_taken(const struct file_memory *memory, const struct known_file *file)
{
	for (uint32_t i = 0; file->identity && i < kept(memory->nr_files, FILE_MEMORY_FILES); i++)
		if (memory->files[i].module == file->module &&
		    memory->files[i].path == file->path &&
		    memory->files[i].identity != file->identity)
			return true;
	return false;
}

static void join(struct unloaded_file *joined, const struct unloaded_file *file)
{
	if (joined->end == 0)
		*joined = *file;
	joined->start = file->start < joined->start ? file->start : joined->start;
	joined->end = file->end > joined->end ? file->end : joined->end;
	joined->nr_stacks =
		file->nr_stacks > joined->nr_stacks ? file->nr_stacks : joined->nr_stacks;
	joined->module = MESSAGE_FRAME_NO_MODULE;
	joined->bias = 0;
}

int file_memory_unload(struct file_memory *memory, const struct unloaded_file *file)
{
	if (!memory->unloaded)
		memory->unloaded = calloc(FILE_MEMORY_UNLOADED, sizeof(*memory->unloaded));
	if (!memory->unloaded)
		return -ENOMEM;
	if (memory->nr_unloaded >= FILE_MEMORY_UNLOADED)
		join(&memory->joined,
		     &memory->unloaded[memory->nr_unloaded % FILE_MEMORY_UNLOADED]);
	memory->unloaded[memory->nr_unloaded % FILE_MEMORY_UNLOADED] = *file;
	if (++memory->nr_unloaded == 0)
		memory->nr_unloaded = FILE_MEMORY_UNLOADED;
	return 0;
}

static bool holds(const struct unloaded_file *file, uint32_t stack, uint64_t address)
{
	return stack <= file->nr_stacks && address >= file->start && address < file->end;
}

/* Of several unloadings since the stack's capture the first tells what lay there then. */
const struct unloaded_file *file_memory_at(const struct file_memory *memory, uint32_t stack,
					   uint64_t address)
{
	const struct unloaded_file *found = NULL;

	for (uint32_t i = 1; i <= kept(memory->nr_unloaded, FILE_MEMORY_UNLOADED); i++) {
		const struct unloaded_file *file =
			&memory->unloaded[(memory->nr_unloaded - i) % FILE_MEMORY_UNLOADED];

		if (file->nr_stacks < stack)
			break;
		if (holds(file, stack, address))
			found = file;
	}
	return holds(&memory->joined, stack, address) ? &memory->joined : found;
}
