/* A metric's value travels and is stored as the 64 bits of a double. Only values that are finite and not below 0 are
 * valid. Of these greater values have greater bits. Pure. */
#ifndef KERNEL_METRIC_H
#define KERNEL_METRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define KERNEL_METRIC_BITS_MAX 0x7fefffffffffffffull /* of the greatest value, which is finite */

static inline bool kernel_metric_is_valid(double value)
{
	return value >= 0 && value <= __DBL_MAX__;
}

static inline uint64_t kernel_metric_bits(double value)
{
	uint64_t bits;

	value += 0.0; /* -0 becomes 0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double kernel_metric_value(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
