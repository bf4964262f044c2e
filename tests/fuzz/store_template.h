/* Small valid stores, made once, that inputs of store_fuzz change. Each call aborts the process on any error. */
#ifndef STORE_TEMPLATE_H
#define STORE_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

/* Half of the scenario (scenario.h), where much waits; all of it; one with collectives, clocks and samples. */
#define STORE_TEMPLATES 3u

struct store_template {
	uint8_t *bytes; /* owns */
	size_t size;
};

/* Makes the store of a number below STORE_TEMPLATES, without companion files. */
struct store_template store_template_make(uint32_t number);

#endif
