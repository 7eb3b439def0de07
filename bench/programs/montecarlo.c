/* Particle transport by Monte Carlo, with the communication of the CORAL benchmark MCB as Sato et
   al. describe it (Clock Delta Compression, SC15, section 2.1): the region is cut into one domain
   per rank on a torus; a rank follows its particles and, after every few of them, looks with
   MPI_Testsome which neighbours have sent some. Particles that leave are collected per neighbour
   and sent without waiting. The end is found by counting finished particles with messages that
   are looked for in the same place. Each particle has its own random numbers, but the tallies are
   sums of floating-point numbers in the order of arrival.
   SIZE is the number of particles that start in each domain. */
#include "bench.h"

enum { WEST, EAST, NORTH, SOUTH, DIRECTIONS };
enum { CONTROL = DIRECTIONS, REQUESTS };
enum { TAG_CONTROL = 100 };
enum { PACKET = 32, SENDS = 64, POLL_EVERY = 8, REPORT_EVERY = 256, CELLS = 16 };

static const double MEAN_FREE_PATH = 0.04;
static const double SURVIVAL = 0.98; /* weight kept in a collision */
static const double LIGHTEST = 0.05; /* weight at which a particle is finished */

struct particle {
    double x, y;   /* place in the domain, 0 to 1 */
    double angle;  /* of flight */
    double weight; /* what absorption has left of it */
    uint64_t random;
};

struct packet {
    struct particle particles[PACKET];
    int count;
};

struct domain {
    struct bench *bench;
    int neighbours[DIRECTIONS];
    double tally[CELLS][CELLS];
    struct particle *particles; /* a stack: newly arrived ones are followed first */
    size_t count, capacity;
    struct packet leaving[DIRECTIONS];
    struct particle arriving[DIRECTIONS][PACKET];
    MPI_Request requests[REQUESTS];
    int64_t control;  /* incoming: a number of finished particles, or the order to stop */
    int64_t finished; /* here, not yet reported */
    int64_t total;    /* rank 0: all that have been reported */
    int stop;
    struct packet sending[SENDS];
    MPI_Request sends[SENDS];
    unsigned next_send;
};

static void push(struct domain *domain, const struct particle *particle) {
    if (domain->count == domain->capacity) {
        domain->capacity = domain->capacity ? 2 * domain->capacity : 1024;
        domain->particles =
            realloc(domain->particles, domain->capacity * sizeof *domain->particles);
        if (!domain->particles)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    domain->particles[domain->count++] = *particle;
}

static void set_up(struct domain *domain) {
    struct bench *bench = domain->bench;
    int dims[2] = {0, 0};
    MPI_Dims_create(bench->ranks, 2, dims);
    int row = bench->rank / dims[1], column = bench->rank % dims[1];
    domain->neighbours[WEST] = row * dims[1] + (column + dims[1] - 1) % dims[1];
    domain->neighbours[EAST] = row * dims[1] + (column + 1) % dims[1];
    domain->neighbours[NORTH] = (row + dims[0] - 1) % dims[0] * dims[1] + column;
    domain->neighbours[SOUTH] = (row + 1) % dims[0] * dims[1] + column;
    uint64_t seed = (uint64_t)bench->rank << 40;
    for (long number = 0; number < bench->size_argument; number++) {
        struct particle particle = {.weight = 1, .random = bench_random(&seed)};
        particle.x = bench_uniform(&particle.random);
        particle.y = bench_uniform(&particle.random);
        particle.angle = 2 * M_PI * bench_uniform(&particle.random);
        push(domain, &particle);
    }
    for (int slot = 0; slot < SENDS; slot++)
        domain->sends[slot] = MPI_REQUEST_NULL;
}

static void post_particles(struct domain *domain, int direction) {
    MPI_Irecv(domain->arriving[direction], sizeof domain->arriving[direction], MPI_BYTE,
              domain->neighbours[direction], direction, MPI_COMM_WORLD,
              &domain->requests[direction]);
}

static void post_control(struct domain *domain) {
    MPI_Irecv(&domain->control, 1, MPI_INT64_T, MPI_ANY_SOURCE, TAG_CONTROL, MPI_COMM_WORLD,
              &domain->requests[CONTROL]);
}

static void send_packet(struct domain *domain, int direction) {
    static const int opposite[DIRECTIONS] = {EAST, WEST, SOUTH, NORTH};
    struct packet *leaving = &domain->leaving[direction];
    unsigned slot = domain->next_send++ % SENDS;
    MPI_Wait(&domain->sends[slot], MPI_STATUS_IGNORE);
    domain->sending[slot] = *leaving;
    MPI_Isend(domain->sending[slot].particles, leaving->count * (int)sizeof(struct particle),
              MPI_BYTE, domain->neighbours[direction], opposite[direction], MPI_COMM_WORLD,
              &domain->sends[slot]);
    leaving->count = 0;
}

/* Flies a particle until it is finished or crosses the border; says which border, or -1. */
static int fly(struct domain *domain, struct particle *particle) {
    for (;;) {
        double distance = -MEAN_FREE_PATH * log(1.0 - bench_uniform(&particle->random));
        particle->x += distance * cos(particle->angle);
        particle->y += distance * sin(particle->angle);
        if (particle->x < 0 || particle->x >= 1) {
            int direction = particle->x < 0 ? WEST : EAST;
            particle->x -= floor(particle->x);
            particle->y = fmin(fmax(particle->y, 0), 0.999999);
            return direction;
        }
        if (particle->y < 0 || particle->y >= 1) {
            int direction = particle->y < 0 ? NORTH : SOUTH;
            particle->y -= floor(particle->y);
            return direction;
        }
        double *cell = &domain->tally[(int)(particle->y * CELLS)][(int)(particle->x * CELLS)];
        *cell += particle->weight * distance;
        particle->weight *= SURVIVAL;
        if (particle->weight < LIGHTEST) {
            domain->finished++;
            return -1;
        }
        particle->angle = 2 * M_PI * bench_uniform(&particle->random);
    }
}

static void follow(struct domain *domain) {
    struct particle particle = domain->particles[--domain->count];
    int direction = fly(domain, &particle);
    if (direction < 0)
        return;
    struct packet *leaving = &domain->leaving[direction];
    leaving->particles[leaving->count++] = particle;
    if (leaving->count == PACKET)
        send_packet(domain, direction);
}

static void report(struct domain *domain) {
    if (domain->finished == 0)
        return;
    if (domain->bench->rank == 0)
        domain->total += domain->finished;
    else
        MPI_Send(&domain->finished, 1, MPI_INT64_T, 0, TAG_CONTROL, MPI_COMM_WORLD);
    domain->finished = 0;
}

static void take_control(struct domain *domain) {
    if (domain->bench->rank != 0) {
        domain->stop = 1;
        return;
    }
    domain->total += domain->control;
    post_control(domain);
}

static void take_particles(struct domain *domain, int direction, const MPI_Status *status) {
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    int count = bytes / (int)sizeof(struct particle);
    for (int number = 0; number < count; number++)
        push(domain, &domain->arriving[direction][number]);
    bench_mix(domain->bench, (uint64_t)direction << 32 | (uint64_t)count);
    /* An empty packet is a neighbour's last: it knows already that this is the end. */
    if (count > 0)
        post_particles(domain, direction);
}

static void look(struct domain *domain) {
    int count, done[REQUESTS];
    MPI_Status statuses[REQUESTS];
    MPI_Testsome(REQUESTS, domain->requests, &count, done, statuses);
    for (int index = 0; index < count; index++) {
        domain->bench->receives++;
        if (done[index] == CONTROL)
            take_control(domain);
        else
            take_particles(domain, done[index], &statuses[index]);
    }
}

static void run(struct domain *domain) {
    int64_t all = (int64_t)domain->bench->size_argument * domain->bench->ranks;
    while (!domain->stop) {
        for (int number = 0; number < POLL_EVERY && domain->count > 0; number++)
            follow(domain);
        if (domain->finished >= REPORT_EVERY)
            report(domain);
        if (domain->count == 0) {
            /* Nothing left to do here: let go of everything that others may wait for. */
            for (int direction = 0; direction < DIRECTIONS; direction++)
                if (domain->leaving[direction].count > 0)
                    send_packet(domain, direction);
            report(domain);
        }
        if (domain->bench->rank == 0 && domain->total == all)
            domain->stop = 1;
        else
            look(domain);
    }
}

/* No particle is on its way any more. An empty packet ends each receive that is still posted. */
static void wind_up(struct domain *domain) {
    if (domain->bench->rank == 0) {
        int64_t stop = -1;
        for (int rank = 0; rank < domain->bench->ranks; rank++)
            MPI_Send(&stop, 1, MPI_INT64_T, rank, TAG_CONTROL, MPI_COMM_WORLD);
        MPI_Wait(&domain->requests[CONTROL], MPI_STATUS_IGNORE);
    }
    for (int direction = 0; direction < DIRECTIONS; direction++)
        send_packet(domain, direction);
    MPI_Waitall(DIRECTIONS, domain->requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(SENDS, domain->sends, MPI_STATUSES_IGNORE);
    for (int row = 0; row < CELLS; row++)
        for (int column = 0; column < CELLS; column++) {
            uint64_t bits;
            memcpy(&bits, &domain->tally[row][column], sizeof bits);
            bench_mix(domain->bench, bits);
            domain->bench->tally += domain->tally[row][column];
        }
    free(domain->particles);
}

int main(int argc, char **argv) {
    struct bench bench;
    static struct domain domain;
    bench_start(&bench, "montecarlo", &argc, &argv, 60000);
    domain.bench = &bench;
    set_up(&domain);
    for (int direction = 0; direction < DIRECTIONS; direction++)
        post_particles(&domain, direction);
    post_control(&domain);
    run(&domain);
    wind_up(&domain);
    bench_finish(&bench);
    return 0;
}
