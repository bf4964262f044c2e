#include "http_server.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http_library.h"

#include "base/clock.h"
#include "base/error_text.h"

#define BACKLOG      64
#define LOOK_MS      1000 /* from one look at the connections' time to the next */
#define FULL_LOOK_MS 100  /* the same, while all places are taken */
#define NS_PER_MS    1000000u

struct client {
	int fd; /* the library's; -1: the place is free */
	uint64_t since_ns;
	bool has_asked; /* its request is there, and not all of the answer is sent */
};

struct http_server {
	const struct http_library *library;
	http_answer_fn *answer;
	void (*tend)(void *context);
	void *context;
	struct http_address address;
	uint32_t time_ms;
	bool takes_posts;
	struct MHD_Daemon *daemon; /* owns */
	int listen_fd;             /* the daemon's, once there is one; -1: none */
	int wake_fd;
	pthread_t thread;
	bool has_thread;
	atomic_bool stop;
	/* of the thread, and as many as there are connections */
	struct client clients[HTTP_SERVER_CONNECTIONS];
	bool has_ended; /* a connection, in the last run: only the next run accepts another in its place */
};

/* ---- answers */

struct http_query {
	const struct http_library *library;
	struct MHD_Connection *connection;
};

const char *http_query_value(const struct http_query *query, const char *name)
{
	const char *value = NULL;
	size_t size = 0;

	if (query->library->lookup_connection_value_n(query->connection, MHD_GET_ARGUMENT_KIND,
						      name, strlen(name), &value, &size) != MHD_YES)
		return NULL;
	return value ? strlen(value) == size ? value : HTTP_QUERY_NO_TEXT : "";
}

struct known_names {
	const char *const *names;
	bool has_other;
};

static enum MHD_Result look_at_name(void *context, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct known_names *known = context;
	uint32_t i = 0;

	(void)kind;
	(void)value;
	while (known->names[i] && strcmp(known->names[i], name) != 0)
		i++;
	known->has_other |= !known->names[i];
	return known->has_other ? MHD_NO : MHD_YES;
}

bool http_query_has_only(const struct http_query *query, const char *const *names)
{
	struct known_names known = {names, false};

	query->library->get_connection_values(query->connection, MHD_GET_ARGUMENT_KIND,
					      look_at_name, &known);
	return !known.has_other;
}

int http_answer_header(struct http_answer *answer, const char *name, const char *value)
{
	uint32_t i = 0;

	while (i < HTTP_ANSWER_HEADERS && answer->headers[i].name)
		i++;
	char *copy = i < HTTP_ANSWER_HEADERS ? strdup(value) : NULL;

	if (!copy)
		return -ENOMEM;
	answer->headers[i] = (struct http_header){name, copy};
	return 0;
}

static void free_headers(struct http_answer *answer)
{
	for (uint32_t i = 0; i < HTTP_ANSWER_HEADERS; i++)
		free(answer->headers[i].value);
}

static void drop(struct http_answer *answer)
{
	if (!answer->body && answer->size)
		close(answer->fd);
	free(answer->body);
	free_headers(answer);
}

static struct MHD_Response *make_response(const struct http_library *library,
					  const struct http_answer *answer)
{
	return answer->body || !answer->size
		       ? library->create_response(answer->size, answer->body, MHD_RESPMEM_MUST_FREE)
		       : library->create_file_response(answer->size, answer->fd);
}

static enum MHD_Result send_body(const struct http_server *server,
				 struct MHD_Connection *connection, struct http_answer *answer)
{
	const struct http_library *library = server->library;
	struct MHD_Response *response = make_response(library, answer);

	if (!response) {
		drop(answer);
		return MHD_NO;
	}
	for (uint32_t i = 0; i < HTTP_ANSWER_HEADERS && answer->headers[i].name; i++)
		library->add_response_header(response, answer->headers[i].name,
					     answer->headers[i].value);
	free_headers(answer);
	library->add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	library->add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		library->add_response_header(response, MHD_HTTP_HEADER_ALLOW,
					     server->takes_posts ? "GET, HEAD, POST" : "GET, HEAD");
	enum MHD_Result result = library->queue_response(connection, answer->status, response);

	library->destroy_response(response);
	return result;
}

static enum MHD_Result refuse(const struct http_server *server, struct MHD_Connection *connection,
			      uint32_t status, const char *why)
{
	struct http_answer answer = {.status = status,
				     .type = "text/plain; charset=utf-8",
				     .body = strdup(why),
				     .size = strlen(why)};

	return answer.body ? send_body(server, connection, &answer) : MHD_NO;
}

static const char *header_of(const struct http_server *server, struct MHD_Connection *connection,
			     const char *name)
{
	const char *value =
		server->library->lookup_connection_value(connection, MHD_HEADER_KIND, name);

	return value ? value : "";
}

static void note_request(const struct http_server *server, struct MHD_Connection *connection,
			 bool has_asked)
{
	const union MHD_ConnectionInfo *info = server->library->get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info ? info->socket_context : NULL;

	if (client)
		client->has_asked = has_asked;
}

static void note_answered(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_RequestTerminationCode code)
{
	(void)state;
	(void)code;
	note_request(context, connection, false);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **state)
{
	struct http_server *server = context;
	const struct http_query query = {server->library, connection};
	const struct http_request request = {
		.path = url,
		.accept = header_of(server, connection, MHD_HTTP_HEADER_ACCEPT),
		.cookie = header_of(server, connection, MHD_HTTP_HEADER_COOKIE),
		.origin = header_of(server, connection, MHD_HTTP_HEADER_ORIGIN),
		.host = header_of(server, connection, MHD_HTTP_HEADER_HOST),
		.is_post = server->takes_posts && strcmp(method, MHD_HTTP_METHOD_POST) == 0,
		.is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0,
		.query = &query,
	};
	struct http_answer answer = {0};

	note_request(server, connection, true);
	(void)version;
	(void)data;
	(void)size;
	(void)state;
	if (!request.is_post && strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(server, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      server->takes_posts ? "Only GET, HEAD and POST are answered.\n"
						  : "Only GET and HEAD are answered.\n");
	int status = server->answer(server->context, &request, &answer);

	if (!status)
		return send_body(server, connection, &answer);
	drop(&answer);
	return status == -ENOENT ? refuse(server, connection, MHD_HTTP_NOT_FOUND,
					  "There is nothing at this path.\n")
				 : refuse(server, connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
					  "No answer could be made.\n");
}

/* ---- connections */

static void note_connection(void *context, struct MHD_Connection *connection, void **place,
			    enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = context;
	struct client *client = *place;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (client)
			client->fd = -1;
		server->has_ended = true;
		return;
	}
	const union MHD_ConnectionInfo *info =
		server->library->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS && info; i++) {
		client = &server->clients[i];
		if (client->fd >= 0)
			continue;
		*client = (struct client){.fd = info->connect_fd, .since_ns = clock_now_ns()};
		*place = client;
		return;
	}
}

static bool is_full(const struct http_server *server)
{
	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++)
		if (server->clients[i].fd < 0)
			return false;
	return true;
}

/* A client that ends its side before its request is whole. The library does not see each such end. */
static bool has_given_up(const struct client *client)
{
	struct pollfd fd = {.fd = client->fd, .events = POLLRDHUP};

	return !client->has_asked && poll(&fd, 1, 0) > 0 && fd.revents;
}

/* The library can only count the time since a connection's last byte, so a client that sends one byte now and then
 * would stay for good. The descriptor stays the library's, which sees the end. */
static void end_old(struct http_server *server, uint64_t now_ns)
{
	const bool has_others = is_full(server);

	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++) {
		const struct client *client = &server->clients[i];
		uint32_t time_ms = server->time_ms;

		if (client->fd < 0)
			continue;
		if (!client->has_asked && time_ms > HTTP_SERVER_TIME_MS)
			time_ms = HTTP_SERVER_TIME_MS;
		if (((has_others && !client->has_asked) || has_given_up(client)) &&
		    time_ms > HTTP_SERVER_FULL_MS)
			time_ms = HTTP_SERVER_FULL_MS;
		if (now_ns - client->since_ns >= (uint64_t)time_ms * NS_PER_MS)
			shutdown(client->fd, SHUT_RDWR);
	}
}

static void *serve(void *context)
{
	struct http_server *server = context;
	const MHD_UNSIGNED_LONG_LONG most_ms =
		server->time_ms < LOOK_MS ? server->time_ms : LOOK_MS;
	const union MHD_DaemonInfo *info =
		server->library->get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {{.fd = server->wake_fd, .events = POLLIN},
			       {.fd = info ? info->epoll_fd : -1, .events = POLLIN}};

	pthread_setname_np(pthread_self(), "flamegrid-http");
	while (!atomic_load(&server->stop)) {
		MHD_UNSIGNED_LONG_LONG wait_ms = most_ms;

		if (server->library->get_timeout(server->daemon, &wait_ms) != MHD_YES ||
		    wait_ms > most_ms)
			wait_ms = most_ms;
		if (is_full(server) && wait_ms > FULL_LOOK_MS)
			wait_ms = FULL_LOOK_MS;
		if (server->has_ended)
			wait_ms = 0;
		server->has_ended = false;
		poll(fds, sizeof(fds) / sizeof(*fds), (int)wait_ms);
		end_old(server, clock_now_ns());
		server->library->run(server->daemon);
		if (server->tend)
			server->tend(server->context);
	}
	return NULL;
}

/* ---- life */

static int listen_at(struct http_server *server, const struct http_address *address, char **error)
{
	const int one = 1;
	char text[HTTP_ADDRESS_TEXT_MAX];
	int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	server->listen_fd = fd;
	server->address = *address;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address->socket, address->size) < 0 ||
	    listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&server->address.socket, &server->address.size) < 0)
		return error_text_set(error, -errno, "cannot listen on %s: %s",
				      http_address_text(address, text), strerror(errno));
	return 0;
}

static int start_daemon(struct http_server *server, char **error)
{
	server->daemon = server->library->start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET,
		server->listen_fd, MHD_OPTION_CONNECTION_LIMIT, HTTP_SERVER_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_SERVER_REQUEST_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		note_answered, server, MHD_OPTION_END);
	if (!server->daemon)
		return error_text_set(error, -EIO, "the HTTP server cannot start");
	server->listen_fd = -1;
	return 0;
}

static int say_failure(char **error, int status)
{
	return error_text_set(error, status, "the HTTP server cannot start: %s", strerror(-status));
}

/* The program's signals are not for this thread. */
static int start_thread(struct http_server *server, char **error)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int status = -pthread_create(&server->thread, NULL, serve, server);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	server->has_thread = status == 0;
	return status ? say_failure(error, status) : 0;
}

int http_server_start(const struct http_server_options *options, struct http_server **server,
		      char **error)
{
	const struct http_library *library;
	int status;

	*server = NULL;
	*error = NULL;
	status = http_library_open(&library, error);
	struct http_server *new_server = status ? NULL : calloc(1, sizeof(*new_server));

	if (!new_server)
		return status ? status : say_failure(error, -ENOMEM);
	new_server->library = library;
	new_server->answer = options->answer;
	new_server->tend = options->tend;
	new_server->context = options->context;
	new_server->time_ms = options->time_ms ? options->time_ms : HTTP_SERVER_TIME_MS;
	new_server->takes_posts = options->takes_posts;
	new_server->listen_fd = -1;
	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++)
		new_server->clients[i].fd = -1;
	new_server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = new_server->wake_fd < 0 ? say_failure(error, -errno)
					 : listen_at(new_server, &options->address, error);
	if (!status)
		status = start_daemon(new_server, error);
	if (!status)
		status = start_thread(new_server, error);
	if (status)
		http_server_stop(new_server);
	else
		*server = new_server;
	return status;
}

void http_server_stop(struct http_server *server)
{
	const uint64_t one = 1;

	if (!server)
		return;
	if (server->has_thread) {
		atomic_store(&server->stop, true);
		if (write(server->wake_fd, &one, sizeof(one)) < 0)
			assert(errno == EAGAIN);
		pthread_join(server->thread, NULL);
	}
	if (server->daemon)
		server->library->stop_daemon(server->daemon);
	if (server->listen_fd >= 0)
		close(server->listen_fd);
	if (server->wake_fd >= 0)
		close(server->wake_fd);
	free(server);
}

const struct http_address *http_server_address(const struct http_server *server)
{
	return &server->address;
}
