/* Samples with a time axis. The shares of each bin follow from its number (times_test.mjs). */
#ifndef TIMES_SAMPLE_H
#define TIMES_SAMPLE_H

#include "sample.h"

#define TIMES_SAMPLE_BIN_NS 20000000u

/* 8 ranks with 40 steps, and all that an axis may lack. The names of a host and of the profile are hostile. */
void times_sample_8(struct sample *sample);

/* The same ranks in a training, for a picture. */
void times_sample_training(struct sample *sample);

/* 512 ranks with 4096 steps: each second one has a tick. */
void times_sample_512(struct sample *sample);

/* 8 ranks with one step. */
void times_sample_one_step(struct sample *sample);

#define TIMES_SAMPLE_PIECES 120u

/* A part that begins 3 s behind the first event, with pieces of work of two ranks, and steps from 312500 on. */
void times_sample_part(struct sample *sample);

#endif
