#include "probe_note.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "node-agent/files/elf_file.h"

#define SECTION    ".note.stapsdt"
#define OWNER      "stapsdt"
#define NOTE_TYPE  3u
#define NOTES_MAX  (1u << 20) /* bytes */
#define NOTE_ALIGN 4u

/* The fixed part of a note's description. The provider, the name and the arguments follow, each with its NUL. */
struct description {
	uint64_t location, base, semaphore; /* virtual addresses */
};

static size_t aligned(uint64_t size)
{
	return (size + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;
}

/* Moves *bytes behind `text` if `text` stands there, and returns whether it does. */
static bool takes(const char **bytes, size_t *left, const char *text)
{
	size_t size = strlen(text) + 1;

	if (*left < size || memcmp(*bytes, text, size) != 0)
		return false;
	*bytes += size;
	*left -= size;
	return true;
}

static bool is_wanted(const char *bytes, size_t size, const char *provider, const char *name,
		      struct description *description)
{
	if (size < sizeof(*description))
		return false;
	memcpy(description, bytes, sizeof(*description));
	bytes += sizeof(*description);
	size -= sizeof(*description);
	return takes(&bytes, &size, provider) && takes(&bytes, &size, name);
}

static int locate(struct elf_file *file, const struct description *description,
		  struct probe_note *note)
{
	struct probe_note found = {0};

	if (!elf_file_offset(file, description->location, &found.offset) ||
	    (description->semaphore &&
	     !elf_file_offset(file, description->semaphore, &found.semaphore_offset)))
		return -ENOEXEC;
	*note = found;
	return 0;
}

int probe_note_find(struct elf_file *file, const char *provider, const char *name,
		    struct probe_note *note)
{
	struct description description;
	const void *data;
	const char *bytes;
	size_t size;

	*note = (struct probe_note){0};
	if (!elf_file_section(file, SECTION, NOTES_MAX, &data, &size))
		return -ENOENT;
	for (bytes = data; size >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr head;

		memcpy(&head, bytes, sizeof(head));
		size_t owner = aligned(head.n_namesz), body = aligned(head.n_descsz);
		if (owner + body > size - sizeof(head))
			return -ENOEXEC;
		const char *text = bytes + sizeof(head);
		if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof(OWNER) &&
		    memcmp(text, OWNER, sizeof(OWNER)) == 0 &&
		    is_wanted(text + owner, head.n_descsz, provider, name, &description))
			return locate(file, &description, note);
		bytes += sizeof(head) + owner + body;
		size -= sizeof(head) + owner + body;
	}
	return -ENOENT;
}
