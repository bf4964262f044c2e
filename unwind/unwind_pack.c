#include "unwind_pack.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind_row.h"
#include "unwind_rows.h"

#include "proto/sparse_memory.h"

#define BLOCK_ROWS 64u
#define ROW_MAX    8u /* bytes: five for the distance, three for the rule's number */
#define RULE_SLOTS (2u * UNWIND_PACK_RULES_MAX)
#define PAGE_MASK  UINT64_C(4095)

/* Blocks stand behind the header, then steps, then the rules at the end. */
struct header {
	uint64_t tag;
	uint32_t bytes, nr_rows, nr_blocks, nr_rules;
};

struct block {
	uint32_t pc; /* of its first row */
	uint32_t at; /* of that row's step, in bytes from the header */
};

struct packer {
	uint8_t *at;
	uint32_t nr_rules;
	uint32_t rules[UNWIND_PACK_RULES_MAX];
	uint32_t slots[RULE_SLOTS]; /* number of a rule, from 1; 0: free */
};

_Static_assert(sizeof(struct header) == 24 && sizeof(struct block) == 8, "format of packed rows");

/* Returns the number of the rule; UNWIND_PACK_RULES_MAX: there is no room for it. */
static uint32_t number_of(struct packer *packer, uint32_t rule)
{
	uint32_t i = (rule * 0x9e3779b1u) >> 16;

	for (; packer->slots[i]; i = (i + 1) % RULE_SLOTS)
		if (packer->rules[packer->slots[i] - 1] == rule)
			return packer->slots[i] - 1;
	if (packer->nr_rules == UNWIND_PACK_RULES_MAX)
		return UNWIND_PACK_RULES_MAX;
	packer->rules[packer->nr_rules++] = rule;
	packer->slots[i] = packer->nr_rules;
	return packer->nr_rules - 1;
}

static void put(struct packer *packer, uint32_t value)
{
	for (; value > 127; value >>= 7)
		*packer->at++ = (uint8_t)(value | 128);
	*packer->at++ = (uint8_t)value;
}

static int pack_rows(struct packer *packer, const struct unwind_rows *rows, uint8_t *data)
{
	struct header *header = (struct header *)data;
	struct block *blocks = (struct block *)(header + 1);
	uint32_t pc = 0;

	packer->at = (uint8_t *)(blocks + header->nr_blocks);
	for (uint32_t i = 0; i < header->nr_rows; i++) {
		uint32_t number = number_of(packer, rows->rows[i].rule);

		if (number == UNWIND_PACK_RULES_MAX)
			return -ENOSPC;
		if (i % BLOCK_ROWS == 0) {
			pc = rows->rows[i].pc;
			blocks[i / BLOCK_ROWS] = (struct block){pc, (uint32_t)(packer->at - data)};
		}
		put(packer, rows->rows[i].pc - pc);
		put(packer, number);
		pc = rows->rows[i].pc;
	}
	packer->at += (size_t)(data - packer->at) & 3;
	memcpy(packer->at, packer->rules, packer->nr_rules * sizeof(uint32_t));
	header->nr_rules = packer->nr_rules;
	header->bytes =
		(uint32_t)(packer->at - data) + packer->nr_rules * (uint32_t)sizeof(uint32_t);
	return 0;
}

static void *map(uint64_t bytes)
{
	return sparse_memory_map(bytes, PROT_READ | PROT_WRITE);
}

int unwind_pack_make(const struct unwind_rows *rows, uint64_t tag, struct unwind_pack *pack)
{
	uint64_t nr_blocks = (rows->nr + BLOCK_ROWS - 1) / BLOCK_ROWS;
	uint64_t room =
		(sizeof(struct header) + nr_blocks * sizeof(struct block) + rows->nr * ROW_MAX +
		 UNWIND_PACK_RULES_MAX * sizeof(uint32_t) + PAGE_MASK) &
		~PAGE_MASK;
	struct packer *packer;
	uint8_t *data;
	int error = -ENOMEM;

	*pack = (struct unwind_pack){0};
	if (room > UINT32_MAX)
		return -ENOSPC;
	packer = map(sizeof(*packer));
	data = map(room);
	if (packer && data) {
		*(struct header *)data = (struct header){.tag = tag,
							 .nr_rows = (uint32_t)rows->nr,
							 .nr_blocks = (uint32_t)nr_blocks};
		error = pack_rows(packer, rows, data);
	}
	if (packer)
		munmap(packer, sizeof(*packer));
	if (error == 0 && unwind_pack_open(data, room, tag, pack))
		munmap(data + unwind_pack_memory(pack), room - unwind_pack_memory(pack));
	else if (data)
		munmap(data, room);
	return error;
}

void unwind_pack_fini(struct unwind_pack *pack)
{
	if (pack->data)
		munmap((void *)(uintptr_t)pack->data, unwind_pack_memory(pack));
	*pack = (struct unwind_pack){0};
}

bool unwind_pack_open(const uint8_t *data, uint64_t size, uint64_t tag, struct unwind_pack *pack)
{
	struct header header;

	*pack = (struct unwind_pack){0};
	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	if (header.tag != tag || header.bytes > size || header.bytes % sizeof(uint32_t) ||
	    header.nr_blocks == 0 ||
	    sizeof(header) + (uint64_t)header.nr_blocks * sizeof(struct block) +
			    (uint64_t)header.nr_rules * sizeof(uint32_t) >
		    header.bytes)
		return false;
	*pack = (struct unwind_pack){data, header.bytes, header.nr_rows, header.nr_blocks,
				     header.nr_rules};
	return true;
}

struct steps {
	const uint8_t *data;
	uint32_t at, end;
};

static uint32_t take(struct steps *steps)
{
	uint32_t value = 0, byte = 128;

	for (uint32_t shift = 0; byte & 128 && shift < 32 && steps->at < steps->end; shift += 7) {
		byte = steps->data[steps->at++];
		value |= (byte & 127) << shift;
	}
	return value;
}

uint32_t unwind_pack_find(const struct unwind_pack *pack, uint32_t pc)
{
	const struct block *blocks = (const struct block *)(pack->data + sizeof(struct header));
	const uint32_t *rules;
	uint32_t low = 0, high = pack->nr_blocks, row, number;
	struct steps steps;

	if (high == 0)
		return unwind_rule_special(UNWIND_UNSUPPORTED);
	if (pc < blocks[0].pc)
		return unwind_rule_special(UNWIND_GAP);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (blocks[middle].pc <= pc)
			low = middle;
		else
			high = middle;
	}
	row = blocks[low].pc;
	steps = (struct steps){pack->data, blocks[low].at, pack->bytes};
	rules = (const uint32_t *)(pack->data + pack->bytes) - pack->nr_rules;
	take(&steps);
	number = take(&steps);
	/* The number of the last row's rule stays if the block ends. */
	for (uint32_t i =
		     (low + 1 == pack->nr_blocks ? pack->nr_rows - 1 : BLOCK_ROWS - 1) % BLOCK_ROWS;
	     i; i--) {
		uint32_t distance = take(&steps);

		if (distance > pc - row)
			break;
		row += distance;
		number = take(&steps);
	}
	return number < pack->nr_rules ? rules[number] : unwind_rule_special(UNWIND_UNSUPPORTED);
}
