/* How kernels were launched, for the truth: a row for each device, kernel, grid, block, shared memory and number of
 * registers. Rows live for ever. Any thread. */
#ifndef SIM_SHAPE_H
#define SIM_SHAPE_H

#include <stdint.h>
#include <stdio.h>

struct sim_operation;
struct sim_shape_row;

/* The row of a kernel. NULL: no kernel, or no room. */
struct sim_shape_row *sim_shape_row(const struct sim_operation *operation);

/* A record of it was delivered complete and with times. */
void sim_shape_count(struct sim_shape_row *row, uint64_t ns);

/* A line for each row with a count: "#config", ordinal, name, grid, block, static and dynamic shared bytes, registers,
 * local bytes, count, ns. */
void sim_shape_write(FILE *file);

#endif
