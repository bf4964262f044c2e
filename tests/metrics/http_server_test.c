#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/http_server.h"

#define FIRST_ADDRESS "127.0.0.1"
#define HEAD_MAX      2048u
#define LARGE_BYTES   (32u << 20) /* more than sockets hold */

static struct http_server *server;
static atomic_uint nr_answers, nr_posts, nr_heads;
static int tended; /* an eventfd of times at which the server's thread tended something */

static bool has_no_descriptor;

int __real_eventfd(unsigned int count, int flags);
int __wrap_eventfd(unsigned int count, int flags);

int __wrap_eventfd(unsigned int count, int flags)
{
	errno = EMFILE;
	return has_no_descriptor ? -1 : __real_eventfd(count, flags);
}

static int answer_request(void *context, const struct http_request *request,
			  struct http_answer *answer)
{
	assert_ptr_equal(context, &nr_answers);
	atomic_fetch_add(&nr_answers, 1);
	atomic_fetch_add(&nr_posts, request->is_post && strcmp(request->origin, "http://a") == 0 &&
					    strcmp(request->host, "x") == 0);
	atomic_fetch_add(&nr_heads, request->is_head);
	if (strcmp(request->path, "/broken") == 0)
		return -EIO;
	if (strcmp(request->path, "/large") == 0) {
		*answer = (struct http_answer){.status = 200,
					       .type = "text/x-test",
					       .body = calloc(1, LARGE_BYTES),
					       .size = LARGE_BYTES};
		return answer->body ? 0 : -ENOMEM;
	}
	if (strcmp(request->path, "/accept") != 0)
		return -ENOENT;
	*answer = (struct http_answer){.status = 200,
				       .type = "text/x-test",
				       .body = strdup(request->accept),
				       .size = strlen(request->accept)};
	return 0;
}

static void start(uint32_t time_ms)
{
	struct http_server_options options = {
		.answer = answer_request, .context = &nr_answers, .time_ms = time_ms};
	char *error;

	atomic_store(&nr_answers, 0);
	atomic_store(&nr_heads, 0);
	assert_int_equal(http_address_parse(FIRST_ADDRESS ":0", &options.address, &error), 0);
	assert_int_equal(http_server_start(&options, &server, &error), 0);
}

static void tend(void *context)
{
	const uint64_t one = 1;

	assert_ptr_equal(context, &nr_answers);
	assert_int_equal(write(tended, &one, sizeof(one)), sizeof(one));
}

static int set_up(void **state)
{
	(void)state;
	start(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	http_server_stop(server);
	return 0;
}

/* A connection from an address of this machine. */
static int dial(const char *from)
{
	const struct http_address *to = http_server_address(server);
	struct sockaddr_in own = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, from, &own.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to->socket, to->size), 0);
	return fd;
}

/* Reads to the end, and closes. Returns text. */
static const char *read_all(int fd, char text[static HEAD_MAX])
{
	size_t size = 0;
	ssize_t got;

	while (size < HEAD_MAX - 1 && (got = read(fd, text + size, HEAD_MAX - 1 - size)) > 0)
		size += (size_t)got;
	text[size] = '\0';
	close(fd);
	return text;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static const char *ask(const char *request, char text[static HEAD_MAX])
{
	int fd = dial(FIRST_ADDRESS);

	say(fd, request);
	return read_all(fd, text);
}

static void assert_begins(const char *text, const char *beginning)
{
	assert_true(strlen(text) >= strlen(beginning));
	assert_memory_equal(text, beginning, strlen(beginning));
}

static void a_request_gets_its_answer(void **state)
{
	char text[HEAD_MAX];

	(void)state;
	ask("GET /accept?q=1 HTTP/1.1\r\nHost: x\r\nAccept: a/b\r\n\r\n", text);
	assert_begins(text, "HTTP/1.1 200 OK\r\n");
	assert_non_null(strstr(text, "\r\nContent-Type: text/x-test\r\n"));
	assert_non_null(strstr(text, "\r\n\r\na/b"));
	ask("GET /accept HTTP/1.1\r\nHost: x\r\n\r\n", text);
	assert_non_null(strstr(text, "\r\nContent-Length: 0\r\n"));
}

static void head_has_no_body(void **state)
{
	char text[HEAD_MAX];

	(void)state;
	ask("HEAD /accept HTTP/1.1\r\nHost: x\r\nAccept: a/b\r\n\r\n", text);
	assert_begins(text, "HTTP/1.1 200 OK\r\n");
	assert_non_null(strstr(text, "\r\nContent-Length: 3\r\n"));
	assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	assert_int_equal(atomic_load(&nr_heads), 1);
	ask("GET /accept HTTP/1.1\r\nHost: x\r\nAccept: a/b\r\n\r\n", text);
	assert_int_equal(atomic_load(&nr_heads), 1);
}

static void other_paths_and_methods_are_refused(void **state)
{
	char text[HEAD_MAX];

	(void)state;
	assert_begins(ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 404 ");
	assert_begins(ask("GET /accept/../x HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 404 ");
	assert_begins(ask("GET /broken HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 500 ");
	assert_begins(ask("DELETE /accept HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 405 ");
	assert_non_null(strstr(text, "\r\nAllow: GET, HEAD\r\n"));
	assert_begins(
		ask("POST /accept HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n", text),
		"HTTP/1.1 405 ");
	assert_int_equal(atomic_load(&nr_answers), 3);
}

static void posts_are_answered_on_request_whatever_their_body_is(void **state)
{
	struct http_server_options options = {
		.answer = answer_request, .context = &nr_answers, .takes_posts = true};
	char text[HEAD_MAX], *error;

	(void)state;
	http_server_stop(server);
	atomic_store(&nr_answers, 0);
	atomic_store(&nr_posts, 0);
	assert_int_equal(http_address_parse(FIRST_ADDRESS ":0", &options.address, &error), 0);
	assert_int_equal(http_server_start(&options, &server, &error), 0);
	assert_begins(ask("POST /accept HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\n"
			  "Content-Length: 0\r\n\r\n",
			  text),
		      "HTTP/1.1 200 ");
	assert_begins(ask("POST /accept HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\n"
			  "Content-Length: 9999999999\r\n\r\n",
			  text),
		      "HTTP/1.1 200 ");
	assert_int_equal(atomic_load(&nr_posts), 2);
	assert_begins(ask("GET /accept HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 200 ");
	assert_begins(ask("PUT /accept HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 405 ");
	assert_non_null(strstr(text, "\r\nAllow: GET, HEAD, POST\r\n"));
	assert_int_equal(atomic_load(&nr_answers), 3);
	assert_int_equal(atomic_load(&nr_posts), 2);
}

static void what_is_no_request_gets_no_answer(void **state)
{
	char text[HEAD_MAX];

	(void)state;
	ask("\x16\x03\x01\x02\r\n\r\n\r\n", text);
	assert_true(*text == '\0' || strncmp(text, "HTTP/1.1 4", 10) == 0 ||
		    strncmp(text, "HTTP/1.0 4", 10) == 0);
	assert_int_equal(atomic_load(&nr_answers), 0);
}

/* The server may close before all of it is sent. */
static void a_request_has_a_size(void **state)
{
	const size_t size = 4 * HTTP_SERVER_REQUEST_BYTES;
	char text[HEAD_MAX], *request = malloc(size + 1);
	int fd = dial(FIRST_ADDRESS);

	(void)state;
	memset(request, 'x', size);
	memcpy(request, "GET /accept HTTP/1.1\r\nX: ", 25);
	for (size_t sent = 0, got; sent < size; sent += got) {
		ssize_t n = send(fd, request + sent, size - sent, MSG_NOSIGNAL);

		got = n > 0 ? (size_t)n : size;
	}
	free(request);
	read_all(fd, text);
	assert_true(*text == '\0' || strncmp(text, "HTTP/1.1 4", 10) == 0);
	assert_int_equal(atomic_load(&nr_answers), 0);
	assert_begins(ask("GET /accept HTTP/1.1\r\nHost: x\r\n\r\n", text), "HTTP/1.1 200 ");
}

/* Returns the number of bytes that the server took, one a tick, until it closed. */
static uint32_t trickle(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	uint32_t sent = 0;

	while (poll(&end, 1, 20) == 0 && send(fd, "x", 1, MSG_NOSIGNAL) == 1)
		sent++;
	return sent;
}

static void a_slow_client_is_closed(void **state)
{
	char text[HEAD_MAX];

	(void)state;
	http_server_stop(server);
	start(200);
	int fd = dial(FIRST_ADDRESS);

	say(fd, "GET /accept HTTP/1.1\r\nX: ");
	assert_in_range(trickle(fd), 1, HTTP_SERVER_REQUEST_BYTES / 2);
	close(fd);
	fd = dial(FIRST_ADDRESS); /* says nothing */
	assert_string_equal(read_all(fd, text), "");
	assert_int_equal(atomic_load(&nr_answers), 0);
}

static void who_ends_within_a_request_is_closed(void **state)
{
	char text[HEAD_MAX];

	(void)state;
	http_server_stop(server);
	start(600000);
	int fd = dial(FIRST_ADDRESS);

	say(fd, "GET /accept HTTP/1.1\r\nHost");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_string_equal(read_all(fd, text), "");
	assert_int_equal(atomic_load(&nr_answers), 0);
	fd = dial(FIRST_ADDRESS);
	say(fd, "GET /accept HTTP/1.1\r\nHost: x\r\nAccept: a/b\r\n\r\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_begins(read_all(fd, text), "HTTP/1.1 200 ");
}

/* All places are taken by clients who say nothing, and nobody of them leaves. */
static void silent_clients_do_not_keep_their_places(void **state)
{
	int fds[HTTP_SERVER_CONNECTIONS];
	char text[HEAD_MAX];

	(void)state;
	http_server_stop(server);
	start(UINT32_MAX);
	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++)
		fds[i] = dial(FIRST_ADDRESS);
	int fd = dial(FIRST_ADDRESS);

	say(fd, "GET /accept HTTP/1.1\r\nHost: x\r\nAccept: another\r\n\r\n");
	assert_non_null(strstr(read_all(fd, text), "another"));
	assert_int_equal(atomic_load(&nr_answers), 1);
	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++)
		close(fds[i]);
}

static size_t count_all(int fd)
{
	static char text[65536];
	size_t size = 0;
	ssize_t got;

	while ((got = read(fd, text, sizeof(text))) > 0)
		size += (size_t)got;
	close(fd);
	return size;
}

/* The clients who say nothing go, and not the one that takes its answer slowly. */
static void an_answer_under_way_is_not_cut_while_others_wait(void **state)
{
	int fds[HTTP_SERVER_CONNECTIONS - 1];
	char text[HEAD_MAX];

	(void)state;
	http_server_stop(server);
	start(UINT32_MAX);
	int slow = dial(FIRST_ADDRESS);

	say(slow, "GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_int_equal(recv(slow, text, 1, 0), 1); /* it is under way */
	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS - 1; i++)
		fds[i] = dial(FIRST_ADDRESS);
	for (uint32_t i = 0; i < HTTP_SERVER_CONNECTIONS - 1; i++)
		assert_int_equal(count_all(fds[i]), 0);
	assert_true(count_all(slow) > LARGE_BYTES);
}

static void a_taken_port_is_an_error(void **state)
{
	const struct http_server_options options = {.address = *http_server_address(server),
						    .answer = answer_request};
	char place[HTTP_ADDRESS_TEXT_MAX], *error;
	struct http_server *second;

	(void)state;
	assert_int_equal(http_server_start(&options, &second, &error), -EADDRINUSE);
	assert_null(second);
	assert_non_null(strstr(error, http_address_text(&options.address, place)));
	free(error);
}

static void a_server_stops_with_open_connections(void **state)
{
	char text[HEAD_MAX];
	int fd = dial(FIRST_ADDRESS);

	(void)state;
	say(fd, "GET /acc");
	http_server_stop(server);
	server = NULL;
	assert_string_equal(read_all(fd, text), "");
}

static void a_server_that_nobody_asks_tends_what_it_has(void **state)
{
	struct http_server_options options = {
		.answer = answer_request, .tend = tend, .context = &nr_answers};
	uint64_t count;
	char *error;

	(void)state;
	atomic_store(&nr_answers, 0);
	tended = eventfd(0, EFD_CLOEXEC);
	assert_true(tended >= 0);
	assert_int_equal(http_address_parse(FIRST_ADDRESS ":0", &options.address, &error), 0);
	assert_int_equal(http_server_start(&options, &server, &error), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(tended, &count, sizeof(count)), sizeof(count));
	http_server_stop(server);
	assert_int_equal(atomic_load(&nr_answers), 0);
	close(tended);
}

static void a_server_without_descriptors_says_so(void **state)
{
	struct http_server_options options = {.answer = answer_request};
	struct http_server *none;
	char *error;

	(void)state;
	assert_int_equal(http_address_parse(FIRST_ADDRESS ":0", &options.address, &error), 0);
	has_no_descriptor = true;
	assert_int_equal(http_server_start(&options, &none, &error), -EMFILE);
	has_no_descriptor = false;
	assert_null(none);
	assert_string_equal(error, "the HTTP server cannot start: Too many open files");
	free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_nobody_asks_tends_what_it_has),
		cmocka_unit_test(a_server_without_descriptors_says_so),
		cmocka_unit_test_setup_teardown(a_request_gets_its_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(head_has_no_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_paths_and_methods_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			posts_are_answered_on_request_whatever_their_body_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_request_gets_no_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_has_a_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_client_is_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_ends_within_a_request_is_closed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(silent_clients_do_not_keep_their_places, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_taken_port_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_under_way_is_not_cut_while_others_wait,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_server_stops_with_open_connections, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
