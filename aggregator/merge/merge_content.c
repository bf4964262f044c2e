#include "merge_content.h"

#define PLAIN MERGE_PLAIN

const struct merge_content_kind merge_content_kinds[MERGE_KINDS] = {
	[MERGE_KIND_STRING] = {0},
	/* owner, size of the build id, its bytes, path where there is no build id */
	[MERGE_KIND_MODULE] = {7, {PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, MERGE_KIND_STRING}},
	/* file, name */
	[MERGE_KIND_CODE] = {2, {MERGE_KIND_STRING, MERGE_KIND_STRING}},
	/* module, code, offset, scope */
	[MERGE_KIND_FRAME] = {4, {MERGE_KIND_MODULE, MERGE_KIND_CODE, PLAIN, MERGE_KIND_EPOCH}},
	/* depth, parent, frame */
	[MERGE_KIND_NODE] = {3, {PLAIN, MERGE_KIND_NODE, MERGE_KIND_FRAME}},
	/* node, boot id */
	[MERGE_KIND_HOST] = {2, {MERGE_KIND_STRING, MERGE_KIND_STRING}},
	/* host, UUID; index and PCI address where there is no UUID */
	[MERGE_KIND_DEVICE] = {5, {MERGE_KIND_HOST, PLAIN, PLAIN, PLAIN, MERGE_KIND_STRING}},
	[MERGE_KIND_EPOCH] = {2, {PLAIN, PLAIN}},
	[MERGE_KIND_WRITER] = {2, {PLAIN, PLAIN}},
	/* host, start, pid, pid namespace, instance, writer */
	[MERGE_KIND_PROCESS] = {7,
				{MERGE_KIND_HOST, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN,
				 MERGE_KIND_WRITER}},
};

uint64_t merge_content_word(const uint8_t *bytes, uint32_t size, uint32_t word)
{
	uint64_t number = 0;

	for (uint32_t i = 8 * word; i < 8 * word + 8; i++)
		number = number << 8 | (i < size ? bytes[i] : 0);
	return number;
}

void merge_content_translate(struct merge_content *content, enum merge_kind kind,
			     const struct merge_map *map)
{
	const struct merge_content_kind *words = &merge_content_kinds[kind];

	for (uint32_t i = 0; i < words->nr_words; i++)
		if (words->words[i] != MERGE_PLAIN)
			content->words[i] = merge_map_id(map, (enum merge_kind)words->words[i],
							 (uint32_t)content->words[i]);
}

int merge_content_compare(const struct merge_content *a, const struct merge_content *b,
			  enum merge_kind kind)
{
	int order = 0;

	for (uint32_t i = 0; i < merge_content_kinds[kind].nr_words && order == 0; i++)
		order = (a->words[i] > b->words[i]) - (a->words[i] < b->words[i]);
	return order;
}
