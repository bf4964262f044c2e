/* Rendezvous files. What is read is the same when it is written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "proto/trust/rendezvous.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rendezvous rendezvous, again;
	char path[128], *error = NULL;
	struct rendezvous_file *file;

	memset(&rendezvous, 0, sizeof(rendezvous));
	memset(&again, 0, sizeof(again));
	if (rendezvous_read(fuzz_file_write(data, size), &rendezvous, &error) != 0) {
		if (!error || rendezvous.nr_endpoints != 0)
			abort();
		free(error);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/rendezvous", fuzz_file_directory());
	if (rendezvous_create(path, &file) != 0 || rendezvous_publish(file, &rendezvous) != 0 ||
	    rendezvous_read(path, &again, &error) != 0)
		abort();
	rendezvous_close(file);
	unlink(path);
	if (again.nr_endpoints != rendezvous.nr_endpoints ||
	    strcmp(again.step, rendezvous.step) != 0 ||
	    strcmp(again.number, rendezvous.number) != 0)
		abort();
	for (uint32_t i = 0; i < again.nr_endpoints; i++)
		if (strcmp(again.endpoints[i], rendezvous.endpoints[i]) != 0)
			abort();
	return 0;
}
