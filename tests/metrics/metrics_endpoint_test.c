#include "metrics/metrics_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_address.h"
#include "tests/support/cmocka_test.h"

static void an_option_becomes_an_address(void **state)
{
	struct http_address address = {0};
	char text[HTTP_ADDRESS_TEXT_MAX], *error = NULL;

	(void)state;
	assert_int_equal(metrics_endpoint_take(&address, "metrics", "[::1]:9401", &error), 0);
	assert_null(error);
	assert_true(address.size > 0);
	assert_string_equal(http_address_text(&address, text), "[::1]:9401");
}

static void a_wrong_value_names_its_option(void **state)
{
	struct http_address address;
	char *error = NULL;

	(void)state;
	assert_int_equal(metrics_endpoint_take(&address, "metrics", "host:1", &error), -EINVAL);
	assert_string_equal(error, "--metrics host:1: this is not PORT, ADDRESS:PORT or "
				   "[ADDRESS]:PORT");
	free(error);
}

static void nothing(void *context, struct metrics_text *text)
{
	(void)context;
	(void)text;
}

static void taken_port_means_no_metrics(void **state)
{
	struct http_address address = {0};
	char *error = NULL;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(metrics_endpoint_take(&address, "metrics", "127.0.0.1:0", &error), 0);
	assert_null(metrics_endpoint_start(&(struct http_address){0}, nothing, NULL));
	assert_int_equal(bind(fd, (struct sockaddr *)&address.socket, address.size), 0);
	assert_int_equal(listen(fd, 1), 0);
	getsockname(fd, (struct sockaddr *)&address.socket, &address.size);
	assert_null(metrics_endpoint_start(&address, nothing, NULL));
	close(fd);
	struct metrics_endpoint *endpoint = metrics_endpoint_start(&address, nothing, NULL);
	assert_non_null(endpoint);
	metrics_endpoint_stop(endpoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_option_becomes_an_address),
		cmocka_unit_test(a_wrong_value_names_its_option),
		cmocka_unit_test(taken_port_means_no_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
