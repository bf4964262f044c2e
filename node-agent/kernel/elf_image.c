#include "elf_image.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN_MAX (1ull << 32) /* bytes from the first segment to the last */
#define COPY_MAX (1ull << 28) /* of these, the bytes to be copied */
#define PAGE     4096ull

static bool is_known(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == EM_X86_64 &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum > 0 &&
	       header->e_phnum <= ELF_IMAGE_PHDRS_MAX;
}

static bool read_segments(struct elf_image *image, int fd)
{
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || !is_known(&header))
		return false;
	size_t size = header.e_phnum * sizeof(Elf64_Phdr);
	image->nr_segments = header.e_phnum;
	return pread(fd, image->segments, size, (off_t)header.e_phoff) == (ssize_t)size;
}

static bool find_span(struct elf_image *image)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t end = segment->p_vaddr + segment->p_filesz;

		if (segment->p_type != PT_LOAD)
			continue;
		if (end < segment->p_vaddr || end > INT64_MAX)
			return false;
		low = segment->p_vaddr < low ? segment->p_vaddr : low;
		high = end > high ? end : high;
	}
	if (high <= low || high - low > SPAN_MAX)
		return false;
	image->low = low & ~(PAGE - 1);
	image->span = ((high + PAGE - 1) & ~(PAGE - 1)) - image->low;
	return true;
}

bool elf_image_read(struct elf_image *image, int fd)
{
	return read_segments(image, fd) && find_span(image);
}

bool elf_image_borrow(struct elf_image *image, const void *memory, size_t size)
{
	const Elf64_Ehdr *header = memory;

	if (size < sizeof(*header) || !is_known(header) || header->e_phoff > size ||
	    header->e_phnum * sizeof(Elf64_Phdr) > size - header->e_phoff)
		return false;
	image->nr_segments = header->e_phnum;
	memcpy(image->segments, (const char *)memory + header->e_phoff,
	       header->e_phnum * sizeof(Elf64_Phdr));
	if (!find_span(image))
		return false;
	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD &&
		    (segment->p_vaddr - image->low != segment->p_offset ||
		     segment->p_offset + segment->p_filesz > size))
			return false;
	}
	if (image->span > size)
		image->span = size;
	image->base = (char *)(uintptr_t)memory;
	image->is_borrowed = true;
	return true;
}

const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type, uint32_t flags)
{
	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == type && (segment->p_flags & flags) == flags)
			return segment->p_vaddr >= image->low && segment->p_filesz <= image->span &&
					       segment->p_vaddr - image->low <=
						       image->span - segment->p_filesz
				       ? segment
				       : NULL;
	}
	return NULL;
}

static bool reserve(struct elf_image *image, int protection)
{
	void *base = mmap(NULL, image->span, protection,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return false;
	image->base = base;
	return true;
}

bool elf_image_map(struct elf_image *image, int fd)
{
	if (!reserve(image, PROT_NONE))
		return false;
	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];
		uint64_t skew = segment->p_vaddr & (PAGE - 1);

		if (segment->p_type != PT_LOAD || segment->p_filesz == 0)
			continue;
		if ((segment->p_offset & (PAGE - 1)) != skew ||
		    mmap(image->base + (segment->p_vaddr - skew - image->low),
			 segment->p_filesz + skew, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(segment->p_offset - skew)) == MAP_FAILED)
			return false;
	}
	return true;
}

bool elf_image_copy(struct elf_image *image, int fd)
{
	if (image->span > COPY_MAX || !reserve(image, PROT_READ | PROT_WRITE))
		return false;
	for (uint32_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) &&
		    pread(fd, image->base + (segment->p_vaddr - image->low), segment->p_filesz,
			  (off_t)segment->p_offset) != (ssize_t)segment->p_filesz)
			return false;
	}
	return true;
}

struct eh_frame_image elf_image_frames(const struct elf_image *image)
{
	uint64_t base = (uint64_t)(uintptr_t)image->base;

	return (struct eh_frame_image){
		.low = base, .high = base + image->span, .bias = base - image->low};
}

void elf_image_fini(struct elf_image *image)
{
	if (image->base && !image->is_borrowed)
		munmap(image->base, image->span);
	image->base = NULL;
}
