#include "launch_choice.h"

#include <regex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "waiting_work.h"

#define SLOTS   (2 * LAUNCH_CHOICE_MAX)
#define WAITING UINT32_MAX

struct slot {
	_Atomic uint64_t key;  /* 0: unused */
	_Atomic uint32_t left; /* launches to be measured, or WAITING */
};

struct launch_choice {
	struct slot slots[SLOTS];
	uint32_t nr_slots, launches;
	bool has_regex;
	regex_t regex;
};

struct launch_choice *launch_choice_create(uint32_t launches, const char *regex)
{
	struct launch_choice *choice = mmap(NULL, sizeof(*choice), PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (choice == MAP_FAILED)
		return NULL;
	choice->launches = launches;
	if (*regex && regcomp(&choice->regex, regex, REG_EXTENDED | REG_NOSUB) != 0) {
		munmap(choice, sizeof(*choice));
		return NULL;
	}
	choice->has_regex = *regex;
	return choice;
}

void launch_choice_destroy(struct launch_choice *choice)
{
	if (!choice)
		return;
	if (choice->has_regex)
		regfree(&choice->regex);
	munmap(choice, sizeof(*choice));
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 32) * 0x9e3779b97f4a7c15ull;
	value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9ull;
	return value ^ value >> 32;
}

uint64_t launch_choice_key(uint32_t context_id, uint32_t stack_id, const void *function,
			   const void *config, uint32_t config_size)
{
	uint64_t key = mix((uintptr_t)function ^ (uint64_t)stack_id << 40 ^ stack_id) + context_id;

	key = mix(key);

	for (uint32_t i = 0; config && i + sizeof(uint32_t) <= config_size; i += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, (const char *)config + i, sizeof(word));
		key = mix(key + word);
	}
	return key ? key : 1;
}

static uint32_t find(const struct launch_choice *choice, uint64_t key)
{
	uint32_t i = (uint32_t)key & (SLOTS - 1);

	for (;; i = (i + 1) & (SLOTS - 1)) {
		uint64_t known = atomic_load_explicit(&choice->slots[i].key, memory_order_acquire);

		if (known == key || known == 0)
			return i;
	}
}

enum launch_verdict launch_choice_find(const struct launch_choice *choice, uint64_t key)
{
	const struct slot *slot = &choice->slots[find(choice, key)];

	if (atomic_load_explicit(&slot->key, memory_order_relaxed) != key)
		return LAUNCH_UNKNOWN;
	uint32_t left = atomic_load_explicit(&slot->left, memory_order_relaxed);
	return left == WAITING ? LAUNCH_WAITING : left ? LAUNCH_WANTED : LAUNCH_DONE;
}

enum launch_verdict launch_choice_enter(struct launch_choice *choice, uint64_t key,
					const char *name)
{
	struct slot *slot = &choice->slots[find(choice, key)];
	uint32_t left = choice->launches;

	if (atomic_load_explicit(&slot->key, memory_order_relaxed) == key)
		return launch_choice_find(choice, key);
	if (waiting_work_is(name))
		left = WAITING;
	else if (choice->has_regex && (!name || regexec(&choice->regex, name, 0, NULL, 0) != 0))
		left = 0;
	/* Without room a launch that waits for other GPUs is still told apart. */
	if (choice->nr_slots < LAUNCH_CHOICE_MAX) {
		choice->nr_slots++;
		atomic_store_explicit(&slot->left, left, memory_order_relaxed);
		atomic_store_explicit(&slot->key, key, memory_order_release);
	} else if (left != WAITING) {
		left = 0;
	}
	return left == WAITING ? LAUNCH_WAITING : left ? LAUNCH_WANTED : LAUNCH_DONE;
}

void launch_choice_measured(struct launch_choice *choice, uint64_t key)
{
	struct slot *slot = &choice->slots[find(choice, key)];
	uint32_t left = atomic_load_explicit(&slot->left, memory_order_relaxed);

	if (atomic_load_explicit(&slot->key, memory_order_relaxed) == key && left &&
	    left != WAITING)
		atomic_store_explicit(&slot->left, left - 1, memory_order_relaxed);
}
