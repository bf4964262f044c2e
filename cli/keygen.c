/* The verb `keygen`: makes keys for one aggregator and the agents that send to it, and keys of users. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/service/admission.h"
#include "base/log.h"
#include "cli/base/verbs.h"
#include "options/option_line.h"
#include "proto/trust/key_set.h"
#include "proto/trust/user_keys.h"

static int fail(const char *what, int error)
{
	log_error("%s: %s", what, strerror(error));
	return EXIT_FAILED;
}

static int join(char path[static PATH_MAX], const char *directory, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int make_keys(const char *directory)
{
	char aggregator[PATH_MAX], agent[PATH_MAX], public[PATH_MAX];
	struct key_set keys = {0};
	int r;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail(directory, errno);
	r = join(aggregator, directory, "aggregator.keys");
	if (r == 0)
		r = join(agent, directory, "agent.keys");
	if (r == 0)
		r = join(public, directory, "public.keys");
	if (r)
		return fail(directory, -r);
	r = admission_make_keys(&keys);
	if (r)
		return fail("this ZeroMQ was built without CURVE", -r);
	r = key_set_write(aggregator, KEY_ROLE_AGGREGATOR, &keys);
	if (r)
		return fail(aggregator, -r);
	r = key_set_write(agent, KEY_ROLE_AGENT, &keys);
	if (r) {
		unlink(aggregator); /* a single file of the pair is of no use */
		return fail(agent, -r);
	}
	r = key_set_write(public, KEY_ROLE_PUBLIC, &keys);
	if (r)
		return fail(public, -r);
	printf("%s\n%s\n%s\n", aggregator, agent, public);
	return EXIT_OK;
}

/* Gives the file to the user whose keys it has, if this process may do so. */
static int hand_over(const char *path, const char *user)
{
	const struct passwd *entry = geteuid() == 0 ? getpwnam(user) : NULL;

	return entry && chown(path, entry->pw_uid, entry->pw_gid) < 0 ? -errno : 0;
}

/* Makes the secret file first: a public key whose secret nobody has would be of no use. */
static int make_user_keys(const char *directory, const char *user)
{
	char agent[PATH_MAX], secret[PATH_MAX], public[PATH_MAX], users[PATH_MAX], *error;
	struct key_set keys, own = {0};

	if (join(agent, directory, "agent.keys") || join(users, directory, "users") ||
	    join(public, directory, "users.keys") || join(secret, users, user) ||
	    strlen(secret) + sizeof(".keys") > sizeof(secret))
		return fail(directory, ENAMETOOLONG);
	if (!*user || strchr(user, '/') || *user == '.')
		return fail(user, EINVAL);
	strcat(secret, ".keys");
	int r = key_set_read(agent, KEY_ROLE_AGENT, &keys, &error);
	if (r) {
		log_error("%s", error ? error : strerror(-r));
		free(error);
		return EXIT_FAILED;
	}
	if (mkdir(users, 0755) < 0 && errno != EEXIST)
		return fail(users, errno);
	r = admission_make_keys(&own);
	if (r)
		return fail("this ZeroMQ was built without CURVE", -r);
	memcpy(own.server_public, keys.server_public, sizeof(own.server_public));
	r = key_set_write(secret, KEY_ROLE_AGENT, &own);
	if (r)
		return fail(secret, -r);
	r = user_keys_add(public, user, own.client_public, &error);
	if (r == 0 && (r = hand_over(secret, user)) == 0) {
		printf("%s\n%s\n", secret, public);
		return EXIT_OK;
	}
	unlink(secret);
	log_error("%s", error ? error : strerror(-r));
	free(error);
	return EXIT_FAILED;
}

int verb_keygen(const char *program, int argc, char **argv)
{
	const char *user = NULL;
	const struct option_target targets[] = {{"user", .text = &user}};
	int status = option_line_parse(&option_table_keygen, targets, 1, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	return user ? make_user_keys(argv[optind], user) : make_keys(argv[optind]);
}
