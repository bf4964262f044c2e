/* Student's t distribution. Pure; any thread. */
#ifndef STUDENT_H
#define STUDENT_H

/* Returns the t that is exceeded with this probability (above 0, at most 0.5). freedom: degrees of freedom, 1 or more,
 * need not be whole; INFINITY: the normal distribution. Exact to a thousandth. */
double student_quantile(double probability, double freedom);

#endif
