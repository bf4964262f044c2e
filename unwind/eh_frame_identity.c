#include "eh_frame_identity.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "eh_frame_header.h"
#include "process_memory.h"

#include "proto/sparse_memory.h"

#define WORD sizeof(uint64_t)

static const ElfW(Phdr) * find_header(const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			return &info->dlpi_phdr[i];
	return NULL;
}

/* Returns the end of the loaded bytes around the file's address; 0: none are loaded there, or they may be written. */
static uint64_t end_around(const struct dl_phdr_info *info, uint64_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) &&
		    address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
			return info->dlpi_addr + segment->p_vaddr + segment->p_filesz;
	}
	return 0;
}

static uint64_t hash_piece(uint64_t hash, uint64_t address, uint64_t size,
			   uint64_t words[static EH_FRAME_IDENTITY_PIECE / WORD])
{
	memset(words, 0, EH_FRAME_IDENTITY_PIECE);
	process_memory_read(address, words,
			    size < EH_FRAME_IDENTITY_PIECE ? size : EH_FRAME_IDENTITY_PIECE);
	for (size_t i = 0; i < EH_FRAME_IDENTITY_PIECE / WORD; i++)
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

uint64_t eh_frame_identity(const struct dl_phdr_info *info)
{
	const struct eh_frame_image image = eh_frame_image_loaded(info);
	const ElfW(Phdr) *found = find_header(info);
	struct eh_frame_header header;
	uint64_t *words;

	if (!found)
		return 0;
	uint64_t start = info->dlpi_addr + found->p_vaddr, end = end_around(info, found->p_vaddr);
	/* gold puts .eh_frame before its header, other linkers behind it. */
	if (end && eh_frame_header_read(&header, &image, start, found->p_memsz) == 0 &&
	    header.frames < start && eh_frame_image_left(&image, header.frames)) {
		start = header.frames;
		end = info->dlpi_addr + found->p_vaddr + found->p_memsz;
	}
	if (end <= start)
		return 0;
	uint64_t size = end - start, hash = size, space = EH_FRAME_IDENTITY_PIECE;
	uint64_t nr = (size + space - 1) / space;

	if (nr > EH_FRAME_IDENTITY_PIECES) {
		nr = EH_FRAME_IDENTITY_PIECES;
		space = (size - space + nr - 2) / (nr - 1); /* the last one holds the end */
	}
	/* It is mapped, because the calling thread may have a tiny stack. */
	words = sparse_memory_map(EH_FRAME_IDENTITY_PIECE, PROT_READ | PROT_WRITE);
	if (!words)
		return 0;
	for (uint64_t at = 0; nr > 0; nr--, at += space)
		hash = hash_piece(hash, start + at, size - at, words);
	munmap(words, EH_FRAME_IDENTITY_PIECE);
	return hash;
}
