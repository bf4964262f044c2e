/* Stores of several made-up agents (scenario.h), and what they have in common when they are merged. Fails the running
 * test on any error. */
#ifndef MERGE_FIXTURE_H
#define MERGE_FIXTURE_H

#include <stdint.h>

#define MERGE_FIXTURE_AGENTS 6u
#define MERGE_FIXTURE_ALL    ((1u << MERGE_FIXTURE_AGENTS) - 1)

/* For cmocka: a folder of its own. */
int merge_fixture_set_up(void **state);
int merge_fixture_tear_down(void **state);

/* The path of a file in the folder. Owns: free(). */
char *merge_fixture_path(const char *name);

/* Makes a store of some agents (a set of bits), whose frames come in an order that the seed decides. */
void merge_fixture_write(const char *path, uint32_t agents, uint64_t seed);

/* The same in two steps: each agent's frames up to a share of 256, then a copy of the store to copy_path, if that is not
 * NULL, then the rest. */
void merge_fixture_write_both(const char *path, const char *copy_path, uint32_t share,
			      uint32_t agents, uint64_t seed);

/* Goes on with a store: applies the agents' frames that it lacks. */
void merge_fixture_continue(const char *path, uint32_t agents);

/* Merges; fails the test where it fails. */
void merge_fixture_merge(const char *const *paths, uint32_t nr_paths, const char *merged_path);

/* All tables as text, and all reports as text, JSON included. Owns: free(). */
char *merge_fixture_dump(const char *path);
char *merge_fixture_reports(const char *path);

uint32_t merge_fixture_random(uint64_t *seed, uint32_t limit);

#endif
