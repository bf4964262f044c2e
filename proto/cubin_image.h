/* Sections of a cubin, the ELF file of a GPU's code. Files may be hostile: each read is checked against the size of the
 * image, which need not be aligned. Facts, from cubins of nvcc 12.9 and 13.0 for sm_75 to sm_120: they are ELF64,
 * little-endian, of machine 190. e_version may be 129 instead of 1, and the ABI version and the type differ, so none of
 * these is checked. The names of their line table's sections are those of the host: .debug_line. Those of ".nv.merc…"
 * belong to another form of the code, which no program counter points into. libc alone; pure; any thread. */
#ifndef CUBIN_IMAGE_H
#define CUBIN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded. The bytes are borrowed for its life. */
struct cubin_image {
	const uint8_t *data;
	size_t size;
	uint64_t sections_offset;
	uint32_t nr_sections;
	uint64_t names_offset, names_size; /* of sections */
};

/* Of a section header. offset and size lie within the image. The size of a section without bytes (NOBITS) is 0. */
struct cubin_section {
	uint32_t type, link, info;
	uint64_t flags, offset, size;
};

/* 0; -EBADMSG: the bytes are no cubin, or their section headers are damaged. On error *image has no sections. */
int cubin_image_open(const void *data, size_t size, struct cubin_image *image);

/* Reads the header of a section by its index. false: there is none, or it is damaged; *section is then zeroed. */
bool cubin_image_section(const struct cubin_image *image, uint32_t index,
			 struct cubin_section *section);

/* Returns the index of the first section with bytes that has this name; 0: none. */
uint32_t cubin_image_find(const struct cubin_image *image, const char *name,
			  struct cubin_section *section);

/* Returns whether an image is a cubin with a line table. It reads section headers alone and allocates nothing. The
 * compiler writes the table if it is asked for (-lineinfo, -G; Triton does by default). */
bool cubin_has_lines(const void *data, size_t size);

#endif
