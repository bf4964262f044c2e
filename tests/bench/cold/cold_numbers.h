/* Numbers as macros: COLD_THOUSAND(M, 1) is M(1000) to M(1999). */
#ifndef COLD_NUMBERS_H
#define COLD_NUMBERS_H

#define COLD_TEN(M, n)                                                                             \
	M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define COLD_HUNDRED(M, n)                                                                         \
	COLD_TEN(M, n##0)                                                                          \
	COLD_TEN(M, n##1)                                                                          \
	COLD_TEN(M, n##2)                                                                          \
	COLD_TEN(M, n##3)                                                                          \
	COLD_TEN(M, n##4)                                                                          \
	COLD_TEN(M, n##5) COLD_TEN(M, n##6) COLD_TEN(M, n##7) COLD_TEN(M, n##8) COLD_TEN(M, n##9)
#define COLD_THOUSAND(M, n)                                                                        \
	COLD_HUNDRED(M, n##0)                                                                      \
	COLD_HUNDRED(M, n##1)                                                                      \
	COLD_HUNDRED(M, n##2)                                                                      \
	COLD_HUNDRED(M, n##3)                                                                      \
	COLD_HUNDRED(M, n##4)                                                                      \
	COLD_HUNDRED(M, n##5)                                                                      \
	COLD_HUNDRED(M, n##6)                                                                      \
	COLD_HUNDRED(M, n##7) COLD_HUNDRED(M, n##8) COLD_HUNDRED(M, n##9)

#endif
