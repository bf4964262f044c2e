/* Files of keys and of users. What is read serves the role that it was read for, and is the same when it is written and read
 * again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "proto/trust/key_set.h"
#include "proto/trust/user_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_again(const struct key_set *keys, enum key_role role)
{
	struct key_set again;
	char path[128], *error = NULL;

	snprintf(path, sizeof(path), "%s/keys", fuzz_file_directory());
	if (key_set_write(path, role, keys) != 0 || key_set_read(path, role, &again, &error) != 0)
		abort();
	unlink(path);
	if (role == KEY_ROLE_AGENT && strcmp(again.client_secret, keys->client_secret) != 0)
		abort();
}

static void read_users(const char *path)
{
	struct user_keys *users;
	char *error = NULL;

	if (user_keys_open(path, &users, &error) == 0)
		user_keys_find(users, "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", 1);
	else if (!error || users)
		abort();
	user_keys_close(users);
	free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file_write(data, size);
	struct key_set keys;
	char *error = NULL;

	read_users(path);
	for (enum key_role role = KEY_ROLE_AGGREGATOR; role <= KEY_ROLE_AGENT; role++) {
		if (key_set_read(path, role, &keys, &error) == 0) {
			if (!key_set_serves(&keys, role))
				abort();
			read_again(&keys, role);
		} else if (!error || keys.client_public[0] || keys.server_public[0]) {
			abort();
		}
		free(error);
		error = NULL;
	}
	key_set_read_shared(path, &keys, &error);
	free(error);
	if (key_set_read(fuzz_file_directory(), KEY_ROLE_AGENT, &keys, &error) == 0 || !error)
		abort();
	free(error);
	return 0;
}
