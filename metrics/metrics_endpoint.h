/* Serves a program's metrics at http://ADDRESS:PORT/metrics, in OpenMetrics for readers that ask for it, else in the
 * text format 0.0.4. A text answers requests for half a second. Adds what the program costs (own_cost.h), and its
 * version. Used by the thread that starts and stops it. */
#ifndef METRICS_ENDPOINT_H
#define METRICS_ENDPOINT_H

struct http_address;
struct metrics_endpoint;
struct metrics_text;

/* Writes the program's own families. Called in the server's thread. */
typedef void metrics_write_fn(void *context, struct metrics_text *text);

/* Parses the value of an option into *context, a struct http_address. As take() of option_line.h: 0; -EINVAL, and
 * *error is one line, or NULL without memory. */
int metrics_endpoint_take(void *context, const char *name, const char *value, char **error);

/* Logs where it listens, and warns if other machines can reach that. context is borrowed until stop. NULL if where has
 * the size 0, or on an error, which is logged: the program goes on without metrics, so that nobody who takes the port
 * before it can stop it. */
struct metrics_endpoint *metrics_endpoint_start(const struct http_address *where,
						metrics_write_fn *write, void *context);
void metrics_endpoint_stop(struct metrics_endpoint *endpoint); /* accepts NULL */

#endif
