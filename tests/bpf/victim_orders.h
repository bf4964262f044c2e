/* A program that makes CUDA calls as it is told to (call_victim.c, call_victim.py): started, told and ended. Fails the
 * running test on any error. */
#ifndef VICTIM_ORDERS_H
#define VICTIM_ORDERS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf_fixture.h"

struct victim {
	pid_t pid;
	FILE *orders, *answers; /* own */
	uint64_t calls, ns;     /* of all answers */
};

/* Starts path, with up to two arguments, NULL: none. */
void victim_begin(struct victim *victim, const char *path);
void victim_begin_with(struct victim *victim, const char *path, const char *first,
		       const char *second);

/* Tells it to do something, and waits until it has, while the fixture, if there is one, passes. Returns the calls that
 * it made. */
__attribute__((format(printf, 3, 4))) uint64_t
victim_order(struct bpf_fixture *fixture, struct victim *victim, const char *format, ...);

/* Waits for its end; its status must be 7. */
void victim_end(struct victim *victim);

#endif
