/* Why a GPU's counters are not sampled (counter_sampling.h), in words, and the notices of a process
 * (message_process.notices) that say so (run --sample-counters). They are the agent's. Reports recognise such a notice
 * by its words; aggregators and reports that do not know it take it for a line like others. Any thread. */
#ifndef COUNTER_REFUSAL_H
#define COUNTER_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTER_REFUSAL      "counters of CUDA device "
#define COUNTER_REFUSAL_SIZE 128u

/* Returns words for people: "not permitted (…)". Static storage. A refusal of a newer agent is unknown. */
const char *counter_refusal_words(uint32_t refusal);

/* Writes the notice, cut to size; COUNTER_REFUSAL_SIZE suffices. Returns text. */
const char *counter_refusal_notice(uint32_t device_id, uint32_t refusal, char *text, size_t size);

/* Returns whether a process's notice says that counters are not sampled. */
bool counter_refusal_is(const char *notice);

#endif
