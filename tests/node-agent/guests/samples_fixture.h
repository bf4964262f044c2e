/* Writes samples of kernels and cubins into the ring of a ring_source_fixture, and takes what they become. */
#ifndef SAMPLES_FIXTURE_H
#define SAMPLES_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/definition.h"
#include "ring_source_fixture.h"

#define SAMPLES_FIXTURE_CRC        77u
#define SAMPLES_FIXTURE_PIECE      16384u
#define SAMPLES_FIXTURE_ENTRIES    4096u /* of one definition */
#define SAMPLES_FIXTURE_CUBIN_SIZE 100000u

struct host_sample;
struct message;

void samples_fixture_reason(struct ring_source_fixture *fixture, uint32_t index, const char *name);

/* nr_entries may lie. */
void samples_fixture_raw(struct ring_source_fixture *fixture, uint64_t crc, uint32_t device_id,
			 uint32_t nr_entries, const void *tail, uint32_t size);

void samples_fixture_define(struct ring_source_fixture *fixture, uint64_t crc, uint32_t device_id,
			    const char *kernel, const struct definition_kernel_sample *entries,
			    uint32_t nr_entries);

void samples_fixture_piece(struct ring_source_fixture *fixture, uint64_t crc, uint32_t size,
			   uint32_t offset, const void *bytes, uint32_t nr_bytes);

/* Kernel "a" is at line 10 of one.cu, then in leaf, which it inlines at line 10; "b" lies apart at line 50. */
uint8_t *samples_fixture_image(void);

void samples_fixture_cubin(struct ring_source_fixture *fixture);

/* As the agent: samples come alone. false: the pass is complete. */
bool samples_fixture_next(struct ring_source_fixture *fixture, struct message *message);

/* One message has everything. */
const struct host_sample *samples_fixture_take_all(struct ring_source_fixture *fixture,
						   uint32_t count);

uint64_t samples_fixture_untrusted(struct ring_source_fixture *fixture);

uint64_t samples_fixture_code_lost(struct ring_source_fixture *fixture);

#endif
