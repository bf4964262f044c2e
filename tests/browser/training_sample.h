#ifndef TRAINING_SAMPLE_H
#define TRAINING_SAMPLE_H

#include "sample.h"

/* A training of two nodes, with four ranks and two GPUs a node. */
void training_sample(struct sample *sample);

#endif
