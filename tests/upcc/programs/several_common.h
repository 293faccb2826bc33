extern shared int defined_here, defined_there;
extern shared[2] int tentative[4 * THREADS];
extern shared int* pointer_there;
int there(shared[2] int* p);
int nested(void);
int plain_c(int argc, char** argv);
