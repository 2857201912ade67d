// Runs Pinocchio's algorithms once on CasADi symbols and writes what they did as straight-line C.
//
// usage: trace MODEL.txt OUTPUT_DIRECTORY NAME. Prints the CPU seconds of reading, tracing and writing. The C holds two functions:
// inverse(q, v, a) by rnea and forward(q, v, tau) by aba in its LOCAL convention (half the operations of WORLD when traced).
#include <casadi/casadi.hpp>
#include <pinocchio/autodiff/casadi.hpp>
#include "model_file.hpp"
#include <cstdio>
#include <ctime>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

typedef ::casadi::SX Symbol;
typedef pinocchio::ModelTpl<Symbol> SymbolicModel;

static double seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

template <class Vector>
static Vector entries(const Symbol& column) {
  Vector v(column.size1());
  for (int i = 0; i < column.size1(); i++) v[i] = column(i);
  return v;
}

template <class Vector>
static Symbol column(const Vector& v) {
  Symbol c(v.size(), 1);
  for (int i = 0; i < v.size(); i++) c(i) = v[i];
  return c;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double start = seconds();
  const SymbolicModel model = read_model(argv[1]).cast<Symbol>();
  SymbolicModel::Data data(model);
  const Symbol q = Symbol::sym("q", model.nq), v = Symbol::sym("v", model.nv), last = Symbol::sym("last", model.nv);
  const auto Q = entries<SymbolicModel::ConfigVectorType>(q);
  const auto V = entries<SymbolicModel::TangentVectorType>(v), L = entries<SymbolicModel::TangentVectorType>(last);
  pinocchio::rnea(model, data, Q, V, L);
  const ::casadi::Function inverse("inverse", {q, v, last}, {column(data.tau)});
  pinocchio::aba(model, data, Q, V, L, pinocchio::Convention::LOCAL);
  const ::casadi::Function forward("forward", {q, v, last}, {column(data.ddq)});
  ::casadi::CodeGenerator writer(std::string(argv[3]) + ".c");
  writer.add(inverse);
  writer.add(forward);
  writer.generate(std::string(argv[2]) + "/");
  std::printf("%.6f\n", seconds() - start);
}
