// Runs Pinocchio's analytical derivatives once on CasADi symbols and writes what they did as straight-line C.
//
// usage: trace_derivatives MODEL.txt OUTPUT_DIRECTORY NAME. The C holds two functions of (q, v, last): inverse (a) gives
// dtau/dq, dtau/dv and M (upper triangle); forward (tau) gives da/dq, da/dv and the inverse of M (upper triangle);
// entries that are zero for every state are left out.
#include <casadi/casadi.hpp>
#include <pinocchio/autodiff/casadi.hpp>
#include "model_file.hpp"
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

typedef ::casadi::SX Symbol;
typedef pinocchio::ModelTpl<Symbol> SymbolicModel;

template <class Vector>
static Vector entries(const Symbol& column) {
  Vector v(column.size1());
  for (int i = 0; i < column.size1(); i++) v[i] = column(i);
  return v;
}

template <class Matrix>
static Symbol sparse(const Matrix& m, bool upper = false) {
  Symbol s(m.rows(), m.cols());
  for (int i = 0; i < m.rows(); i++)
    for (int j = upper ? i : 0; j < m.cols(); j++)
      if (!m(i, j).is_zero()) s(i, j) = m(i, j);
  return Symbol::sparsify(s);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const SymbolicModel model = read_model(argv[1]).cast<Symbol>();
  SymbolicModel::Data data(model), other(model);
  const Symbol q = Symbol::sym("q", model.nq), v = Symbol::sym("v", model.nv), last = Symbol::sym("last", model.nv);
  const auto Q = entries<SymbolicModel::ConfigVectorType>(q);
  const auto V = entries<SymbolicModel::TangentVectorType>(v), L = entries<SymbolicModel::TangentVectorType>(last);
  pinocchio::computeRNEADerivatives(model, data, Q, V, L);
  const ::casadi::Function inverse("inverse", {q, v, last},
                                   {sparse(data.dtau_dq), sparse(data.dtau_dv), sparse(data.M, true)});
  pinocchio::computeABADerivatives(model, other, Q, V, L);
  const ::casadi::Function forward("forward", {q, v, last},
                                   {sparse(other.ddq_dq), sparse(other.ddq_dv), sparse(other.Minv, true)});
  ::casadi::CodeGenerator writer(std::string(argv[3]) + ".c");
  writer.add(inverse);
  writer.add(forward);
  writer.generate(std::string(argv[2]) + "/");
}
