#include "rendezvous_search.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peer_proof.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/output_dir.h"

#define LOOK_NS      100000000u
#define GREETING_MS  500u /* members wait meanwhile */
#define NS_PER_MS    1000000u
#define CLOCK_SKEW_S 60 /* between the clocks of the file server and this host */
#define TCP          "tcp://"

int rendezvous_search_block_start(const char *output_path, const char *step_key,
				  char start[static PATH_MAX])
{
	const uint64_t name = job_step_hash(JOB_STEP_HASH, step_key);

	return snprintf(start, PATH_MAX, "%s.%016llx-", output_path, (unsigned long long)name) <
			       PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

int rendezvous_search_path(const char *output_path, const struct job_step *step,
			   char path[static PATH_MAX])
{
	const uint64_t name = job_step_hash(JOB_STEP_HASH, step->key);
	char number[16] = "";
	int size;

	if (step->block)
		snprintf(number, sizeof(number), "-%u", step->block);
	size = *step->key ? snprintf(path, PATH_MAX, "%s.%016llx%s" RENDEZVOUS_SUFFIX, output_path,
				     (unsigned long long)name, number)
			  : snprintf(path, PATH_MAX, "%s" RENDEZVOUS_SUFFIX, output_path);

	return size < 0 || size >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int rendezvous_search_init(struct rendezvous_search *search, const char *output_path,
			   const struct job_step *step)
{
	static const struct job_step unnamed;
	int r;

	*search = (struct rendezvous_search){.step = step};
	search->not_before_s = (int64_t)(clock_realtime_ns() / 1000000000u) - CLOCK_SKEW_S;
	r = rendezvous_search_path(output_path, step, search->path);
	return r ? r : rendezvous_search_path(output_path, &unnamed, search->unnamed);
}

int rendezvous_search_wait_ms(const struct rendezvous_search *search)
{
	uint64_t now_ns = clock_now_ns();

	if (search->found)
		return -1;
	return now_ns >= search->next_ns ? 0 : (int)((search->next_ns - now_ns) / NS_PER_MS) + 1;
}

/* Returns whether the file may be this step's. */
static bool is_ours(const struct rendezvous_search *search, const char *path)
{
	struct stat status;

	if (*search->step->key && *search->rendezvous.step)
		return strcmp(search->step->key, search->rendezvous.step) == 0;
	return stat(path, &status) == 0 && status.st_mtime >= search->not_before_s;
}

/* Converts "tcp://10.0.0.1:4000" or "tcp://[fe80::1%eth0]:4000". 0 or -EINVAL. */
static int parse_endpoint(const char *endpoint, struct sockaddr_storage *address, socklen_t *size)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	char host[RENDEZVOUS_ENDPOINT_SIZE];
	const char *text = endpoint + strlen(TCP), *colon = strrchr(endpoint, ':');
	bool is_v6 = strncmp(endpoint, TCP "[", strlen(TCP "[")) == 0;
	int port = colon ? atoi(colon + 1) : 0;

	memset(address, 0, sizeof(*address));
	if (strncmp(endpoint, TCP, strlen(TCP)) != 0 || colon < text + 2 * is_v6 || port <= 0 ||
	    port > UINT16_MAX)
		return -EINVAL;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text) - 2 * is_v6, text + is_v6);
	if (!is_v6) {
		*size = sizeof(*v4);
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -EINVAL;
	}
	*size = sizeof(*v6);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
}

static int begin_connection(const char *endpoint)
{
	struct sockaddr_storage address;
	socklen_t size;

	if (parse_endpoint(endpoint, &address, &size))
		return -1;
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) < 0 &&
	    errno != EINPROGRESS) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_connected(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/* Returns the first endpoint that answered, once all earlier ones have failed or it is late; -1: none yet. */
static int first_answer(const struct pollfd *connections, const bool *answered, uint32_t count,
			bool is_late)
{
	for (uint32_t i = 0; i < count; i++) {
		if (answered[i])
			return (int)i;
		if (connections[i].fd >= 0 && !is_late)
			return -1;
	}
	return -1;
}

/* ZeroMQ greets each connection at once (ZMTP 3.1, signature). The port may be another program's by now. */
static bool is_greeted(int fd)
{
	uint8_t first = 0;

	return recv(fd, &first, sizeof(first), MSG_DONTWAIT) == sizeof(first) && first == 0xff;
}

/* greeted: an answer is the greeting, else that the connection is there. Returns how many connections are still being
 * tried. */
static uint32_t take_answers(struct pollfd *connections, bool *answered, uint32_t count,
			     bool greeted)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pollfd *connection = &connections[i];

		if (connection->fd >= 0 && connection->revents) {
			if (greeted && connection->events == POLLOUT &&
			    is_connected(connection->fd)) {
				connection->events = POLLIN;
			} else {
				answered[i] = greeted ? is_greeted(connection->fd)
						      : is_connected(connection->fd);
				close(connection->fd);
				connection->fd = -1;
			}
		}
		open += connections[i].fd >= 0;
	}
	return open;
}

static int find_answer(const struct rendezvous *rendezvous, uint32_t within_ms, bool greeted)
{
	struct pollfd connections[RENDEZVOUS_ENDPOINTS_MAX];
	bool answered[RENDEZVOUS_ENDPOINTS_MAX] = {false};
	uint64_t until_ns = clock_now_ns() + (uint64_t)within_ms * NS_PER_MS, now_ns;
	uint32_t count = rendezvous->nr_endpoints, open = count;
	int found = -1;

	for (uint32_t i = 0; i < count; i++)
		connections[i] =
			(struct pollfd){begin_connection(rendezvous->endpoints[i]), POLLOUT, 0};
	while (found < 0 && open > 0 && (now_ns = clock_now_ns()) < until_ns) {
		poll(connections, count, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
		open = take_answers(connections, answered, count, greeted);
		found = first_answer(connections, answered, count, false);
	}
	if (found < 0)
		found = first_answer(connections, answered, count, true);
	for (uint32_t i = 0; i < count; i++)
		if (connections[i].fd >= 0)
			close(connections[i].fd);
	return found;
}

int rendezvous_search_reachable(const struct rendezvous *rendezvous, uint32_t within_ms)
{
	return find_answer(rendezvous, within_ms, false);
}

bool rendezvous_search_is_lost(const char *path, const struct rendezvous *rendezvous,
			       uint32_t within_ms)
{
	const int found = rendezvous_search_reachable(rendezvous, within_ms);

	return found < 0 ||
	       (rendezvous_is_held(path) != 1 &&
		!peer_proof_comes(rendezvous->endpoints[found], &rendezvous->keys, within_ms));
}

/* Returns whether the second one names another aggregator, or another place of the first one's. */
static bool is_another(const struct rendezvous *before, const struct rendezvous *now)
{
	bool differs = strcmp(before->keys.server_public, now->keys.server_public) != 0 ||
		       before->nr_endpoints != now->nr_endpoints;

	for (uint32_t i = 0; !differs && i < now->nr_endpoints; i++)
		differs = strcmp(before->endpoints[i], now->endpoints[i]) != 0;
	return differs;
}

static int look(struct rendezvous_search *search, const char *path)
{
	char *error;
	int r = rendezvous_read(path, &search->rendezvous, &error);

	if (r && r != -ENOENT && r != -ESTALE && !search->complained) {
		log_warning("%s", error ? error : strerror(-r));
		search->complained = true;
	}
	free(error);
	return r == 0 && is_ours(search, path) ? find_answer(&search->rendezvous, GREETING_MS, true)
					       : -1;
}

int rendezvous_search_step(struct rendezvous_search *search, const char **endpoint,
			   const struct key_set **keys)
{
	int found;

	if (search->found || clock_now_ns() < search->next_ns)
		return 0;
	found = look(search, search->path);
	if (found < 0 && *search->step->key)
		found = look(search, search->unnamed);
	search->next_ns = clock_now_ns() + LOOK_NS;
	if (found < 0)
		return 0;
	search->found = true;
	*endpoint = search->rendezvous.endpoints[found];
	*keys = &search->rendezvous.keys;
	return 1;
}

int rendezvous_search_again(struct rendezvous_search *search, uint32_t within_ms,
			    const char **endpoint, const struct key_set **keys)
{
	struct rendezvous now;
	char *error;
	int found = -1, r = rendezvous_read(search->path, &now, &error);

	free(error);
	if (r == 0 && strcmp(now.step, search->step->key) == 0 &&
	    strcmp(now.first, search->rendezvous.first) == 0 &&
	    is_another(&search->rendezvous, &now))
		found = rendezvous_search_reachable(&now, within_ms);
	if (found < 0)
		return 0;
	search->rendezvous = now;
	*endpoint = search->rendezvous.endpoints[found];
	*keys = &search->rendezvous.keys;
	return 1;
}

char *rendezvous_search_obstacle(const struct rendezvous_search *search)
{
	struct rendezvous now;
	char *error = NULL;

	switch (rendezvous_read(search->path, &now, &error)) {
	case -EPERM:  /* not a regular file, or another user's */
	case -EACCES: /* another user's */
	case -EINVAL: /* another text */
	case -ENXIO:  /* a socket */
	case -ELOOP:
		return error;
	default:
		free(error);
		return NULL;
	}
}

int rendezvous_search_directory(const char *output_path, const struct rendezvous *rendezvous,
				char directory[static PATH_MAX])
{
	struct rendezvous marked;
	char mark[PATH_MAX], *error;

	if (snprintf(directory, PATH_MAX, "%s%s", output_path, rendezvous->number) >= PATH_MAX ||
	    snprintf(mark, sizeof(mark), "%s/" OUTPUT_MARK, directory) >= (int)sizeof(mark))
		return -ENAMETOOLONG;
	int r = rendezvous_read(mark, &marked, &error);
	free(error);
	return r == 0 && strcmp(marked.first, rendezvous->first) == 0 ? 0 : -ENOENT;
}
