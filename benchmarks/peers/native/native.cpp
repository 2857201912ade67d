// Pinocchio's own C++ algorithms, called in a loop over a fixed set of states. Built as a shared library (header-only).
#include "model_file.hpp"
#include <memory>
#include <vector>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

namespace {
enum Algorithm { RNEA = 0, ABA_WORLD = 1, ABA_LOCAL = 2, RNEA_DERIVATIVES = 3, ABA_DERIVATIVES = 4 };

struct Bench {
  pinocchio::Model model;
  pinocchio::Data data;
  std::vector<Eigen::VectorXd> q, v, accelerations, efforts;
  explicit Bench(const char* path) : model(read_model(path)), data(model) {}
};

const Eigen::VectorXd& call(Bench& b, int algorithm, size_t i) {
  using pinocchio::Convention;
  switch (algorithm) {
    case RNEA: return pinocchio::rnea(b.model, b.data, b.q[i], b.v[i], b.accelerations[i]);
    case ABA_WORLD: return pinocchio::aba(b.model, b.data, b.q[i], b.v[i], b.efforts[i], Convention::WORLD);
    default: return pinocchio::aba(b.model, b.data, b.q[i], b.v[i], b.efforts[i], Convention::LOCAL);
  }
}
}  // namespace

extern "C" {
void* bench_open(const char* path) {
  try {
    return new Bench(path);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void bench_close(void* handle) { delete static_cast<Bench*>(handle); }

// n states, one after the other.
void bench_states(void* handle, long n, const double* q, const double* v, const double* accelerations,
                  const double* efforts) {
  Bench& b = *static_cast<Bench*>(handle);
  const int nq = b.model.nq, nv = b.model.nv;
  b.q.clear(), b.v.clear(), b.accelerations.clear(), b.efforts.clear();
  for (long i = 0; i < n; i++) {
    b.q.push_back(Eigen::Map<const Eigen::VectorXd>(q + i * nq, nq));
    b.v.push_back(Eigen::Map<const Eigen::VectorXd>(v + i * nv, nv));
    b.accelerations.push_back(Eigen::Map<const Eigen::VectorXd>(accelerations + i * nv, nv));
    b.efforts.push_back(Eigen::Map<const Eigen::VectorXd>(efforts + i * nv, nv));
  }
}

void bench_value(void* handle, int algorithm, long i, double* out) {
  Bench& b = *static_cast<Bench*>(handle);
  Eigen::Map<Eigen::VectorXd>(out, b.model.nv) = call(b, algorithm, i);
}

void bench_loop(void* handle, int algorithm, long calls) {
  Bench& b = *static_cast<Bench*>(handle);
  const size_t n = b.q.size();
  using pinocchio::Convention;
  switch (algorithm) {  // the choice is outside the loop: only the algorithm is timed
    case RNEA:
      for (long k = 0; k < calls; k++) pinocchio::rnea(b.model, b.data, b.q[k % n], b.v[k % n], b.accelerations[k % n]);
      break;
    case ABA_WORLD:
      for (long k = 0; k < calls; k++)
        pinocchio::aba(b.model, b.data, b.q[k % n], b.v[k % n], b.efforts[k % n], Convention::WORLD);
      break;
    case RNEA_DERIVATIVES:
      for (long k = 0; k < calls; k++)
        pinocchio::computeRNEADerivatives(b.model, b.data, b.q[k % n], b.v[k % n], b.accelerations[k % n]);
      break;
    case ABA_DERIVATIVES:
      for (long k = 0; k < calls; k++)
        pinocchio::computeABADerivatives(b.model, b.data, b.q[k % n], b.v[k % n], b.efforts[k % n]);
      break;
    default:
      for (long k = 0; k < calls; k++)
        pinocchio::aba(b.model, b.data, b.q[k % n], b.v[k % n], b.efforts[k % n], Convention::LOCAL);
  }
}
}
