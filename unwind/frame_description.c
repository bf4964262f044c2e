#include "frame_description.h"

#include "dwarf_reader.h"

struct dwarf_reader frame_section_reader(const struct frame_section *section, size_t at)
{
	if (at > section->size)
		at = section->size;
	return dwarf_reader_on(section->bytes + at, section->size - at, section->address + at);
}

/* The augmentation's letters say what the data after them holds. */
static bool parse_augmentation(struct dwarf_reader *reader, const char *letters,
			       struct frame_common *common)
{
	if (*letters != 'z')
		return *letters == '\0';
	common->augmented = true;

	uint64_t size = dwarf_reader_uleb(reader);
	const uint8_t *bytes = dwarf_reader_bytes(reader, size);
	if (!bytes)
		return false;

	/* Only the formats' sizes matter here: the personality is skipped, wherever it points. */
	struct dwarf_reader data = dwarf_reader_on(bytes, (size_t)size, 0);
	for (letters++; *letters; letters++) {
		switch (*letters) {
		case 'R':
			common->pointer_encoding = dwarf_reader_u8(&data);
			break;
		case 'L':
			dwarf_reader_u8(&data);
			break;
		case 'P': {
			uint8_t encoding = dwarf_reader_u8(&data);

			dwarf_reader_pointer(&data, encoding & DWARF_POINTER_FORMAT, 0);
			break;
		}
		case 'S':
			common->signal = true;
			break;
		case 'B': /* aarch64's: no data */
			break;
		default:
			return false;
		}
	}
	return !data.failed;
}

/* Reads an entry's length. The reader is then on the entry's body alone. Returns false at the terminator, or if there
 * is no entry. */
static bool enter(struct dwarf_reader *reader, bool *wide)
{
	uint64_t size = dwarf_reader_unsigned(reader, 4);

	*wide = size == UINT32_MAX;
	if (*wide)
		size = dwarf_reader_unsigned(reader, 8);
	if (reader->failed || size == 0 || size > dwarf_reader_left(reader))
		return false;
	reader->end = reader->at + size;
	return true;
}

bool frame_common_parse(const struct frame_section *section, size_t at, struct frame_common *common)
{
	struct dwarf_reader reader = frame_section_reader(section, at);
	bool wide;

	*common = (struct frame_common){.pointer_encoding = DWARF_POINTER_ABSOLUTE};
	if (!enter(&reader, &wide) || dwarf_reader_unsigned(&reader, wide ? 8 : 4) != 0)
		return false;

	uint8_t version = dwarf_reader_u8(&reader);
	const char *letters = (const char *)reader.at;
	while (dwarf_reader_u8(&reader) != 0)
		;
	if (reader.failed || (version != 1 && version != 3))
		return false;
	common->cfi.code_align = dwarf_reader_uleb(&reader);
	common->cfi.data_align = dwarf_reader_sleb(&reader);
	common->cfi.return_column =
		version == 1 ? dwarf_reader_u8(&reader) : dwarf_reader_uleb(&reader);
	if (!parse_augmentation(&reader, letters, common) || reader.failed)
		return false;
	common->cfi.program = reader.at;
	common->cfi.program_size = dwarf_reader_left(&reader);
	return true;
}

static bool find_common(const struct frame_section *section, struct frame_common_cache *cache,
			size_t at, struct frame_common *common)
{
	for (uint32_t i = 0; i < cache->nr; i++) {
		if (cache->entries[i].at == at) {
			*common = cache->entries[i].common;
			return true;
		}
	}
	if (!frame_common_parse(section, at, common))
		return false;
	cache->entries[cache->next].at = at;
	cache->entries[cache->next].common = *common;
	cache->next = (cache->next + 1) % FRAME_COMMONS;
	if (cache->nr < FRAME_COMMONS)
		cache->nr++;
	return true;
}

/* Enters a description. The reader is then behind the reference to the common entry, which begins `back` bytes before
 * it. */
static bool enter_description(const struct frame_section *section, size_t at,
			      struct dwarf_reader *reader, size_t *field, uint64_t *back)
{
	bool wide;

	*reader = frame_section_reader(section, at);
	if (!enter(reader, &wide))
		return false;
	*field = (size_t)(reader->at - reader->start) + at;
	*back = dwarf_reader_unsigned(reader, wide ? 8 : 4);
	return *back != 0;
}

static bool parse_body(const struct frame_section *section, struct dwarf_reader *reader,
		       struct frame_description *description)
{
	uint8_t encoding = description->common.pointer_encoding;

	description->start = dwarf_reader_pointer(reader, encoding, section->data_base);
	if ((encoding & DWARF_POINTER_BASE) == 0)
		description->start += section->image.bias;
	uint64_t left = eh_frame_image_left(&section->image, description->start);
	uint64_t size = dwarf_reader_pointer(reader, encoding & DWARF_POINTER_FORMAT, 0);
	if (description->common.augmented)
		dwarf_reader_bytes(reader, dwarf_reader_uleb(reader));
	description->end = description->start + (size < left ? size : left);
	description->program = reader->at;
	description->program_size = dwarf_reader_left(reader);
	return !reader->failed && description->end > description->start;
}

bool frame_description_parse(const struct frame_section *section, struct frame_common_cache *cache,
			     size_t at, struct frame_description *description)
{
	struct dwarf_reader reader;
	uint64_t back;
	size_t field;

	return enter_description(section, at, &reader, &field, &back) && back <= field &&
	       find_common(section, cache, field - (size_t)back, &description->common) &&
	       parse_body(section, &reader, description);
}

bool frame_description_common(const struct frame_section *section, size_t at, uint64_t *address)
{
	struct dwarf_reader reader;
	uint64_t back;
	size_t field;

	if (!enter_description(section, at, &reader, &field, &back))
		return false;
	*address = section->address + field - back;
	return true;
}

bool frame_description_parse_apart(const struct frame_section *section, size_t at,
				   const struct frame_common *common,
				   struct frame_description *description)
{
	struct dwarf_reader reader;
	uint64_t back;
	size_t field;

	description->common = *common;
	return enter_description(section, at, &reader, &field, &back) &&
	       parse_body(section, &reader, description);
}
