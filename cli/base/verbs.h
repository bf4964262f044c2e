/* Lists the verbs of the flamegrid command, one file each. A verb takes its own name in argv[0] and returns the exit
 * status. Only main.c decides which verb is called. */
#ifndef VERBS_H
#define VERBS_H

/* Exit statuses. `run` uses 125-127 for its own failures, as env(1) does, since all others are the job's. */
#define EXIT_OK        0
#define EXIT_FAILED    1 /* something could not be done; check has statuses of its own */
#define EXIT_USAGE     2 /* the command line was not understood */
#define EXIT_LOSS      3 /* report --strict: records were lost; merge: a profile was damaged */
#define EXIT_NOTHING   4 /* timeline: nothing of the kind that was asked for is there */
#define EXIT_RUN_OWN   125
#define EXIT_RUN_EXEC  126 /* the command was found and could not be started */
#define EXIT_RUN_FOUND 127 /* no such command */

/* program: argv[0] of the process, which leads to the installation. */
int verb_run(const char *program, int argc, char **argv);
int verb_attach(const char *program, int argc, char **argv);
int verb_detach(const char *program, int argc, char **argv);
int verb_control(const char *program, int argc, char **argv);
int verb_keygen(const char *program, int argc, char **argv);
int verb_metrics(const char *program, int argc, char **argv);
int verb_step(const char *program, int argc, char **argv);
int verb_demo(const char *program, int argc, char **argv);
int verb_doctor(const char *program, int argc, char **argv);
int verb_report(const char *program, int argc, char **argv);
int verb_check(const char *program, int argc, char **argv);
int verb_diff(const char *program, int argc, char **argv);
int verb_export(const char *program, int argc, char **argv);
int verb_fetch(const char *program, int argc, char **argv);
int verb_serve(const char *program, int argc, char **argv);
int verb_top(const char *program, int argc, char **argv);
int verb_watch(const char *program, int argc, char **argv);
int verb_timeline(const char *program, int argc, char **argv);
int verb_merge(const char *program, int argc, char **argv);
int verb_agent(const char *program, int argc, char **argv);
int verb_aggregate(const char *program, int argc, char **argv);

#endif
