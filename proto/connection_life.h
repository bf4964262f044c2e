/* How both ends of a connection by network notice that the other host is gone without a word.
 *
 * An agent notices first: its PING asks once a second, and five seconds without an answer end the connection. The
 * aggregator has nothing to send to an agent that says nothing, so there the kernel asks. It needs 25 seconds.
 *
 * ZeroMQ's own heartbeats must stay off on both ends. Up to 4.3.5, libzmq aborts the process when a heartbeat is due on
 * a connection that broke while its input was stopped. Input stops at the high-water mark, so whenever we are slow. */
#ifndef CONNECTION_LIFE_H
#define CONNECTION_LIFE_H

#define CONNECTION_QUIET_S       10    /* until the kernel asks the other end (TCP keepalive) */
#define CONNECTION_PROBE_S       5     /* from one question to the next */
#define CONNECTION_PROBES        3     /* without an answer: the connection is over */
#define CONNECTION_UNANSWERED_MS 25000 /* for what was sent to be confirmed (TCP_USER_TIMEOUT) */

#endif
