// Reads the text form of a joint tree (written by pinocchio_models.py) into a pinocchio::Model.
//
// First line: number of joints. Second: gravity. Then one line a joint: parent, kind, axis (3), placement rotation (9, by
// rows) and translation (3) in the parent joint's frame, mass, mass centre (3), inertia about the mass centre (9, by rows).
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <pinocchio/multibody.hpp>

inline pinocchio::JointModel joint_of(const std::string& kind, const Eigen::Vector3d& axis) {
  using namespace pinocchio;
  if (kind == "RX") return JointModelRX();
  if (kind == "RY") return JointModelRY();
  if (kind == "RZ") return JointModelRZ();
  if (kind == "PX") return JointModelPX();
  if (kind == "PY") return JointModelPY();
  if (kind == "PZ") return JointModelPZ();
  if (kind == "RevoluteUnaligned") return JointModelRevoluteUnaligned(axis);
  if (kind == "FreeFlyer") return JointModelFreeFlyer();
  throw std::runtime_error("the benchmark's model file knows no joint " + kind);
}

inline Eigen::Vector3d read_vector(std::istream& in) {
  Eigen::Vector3d v;
  in >> v[0] >> v[1] >> v[2];
  return v;
}

inline Eigen::Matrix3d read_matrix(std::istream& in) {
  Eigen::Matrix3d m;
  for (int row = 0; row < 3; row++) m.row(row) = read_vector(in).transpose();
  return m;
}

inline pinocchio::Model read_model(const char* path) {
  using namespace pinocchio;
  std::ifstream in(path);
  int joints = 0;
  if (!(in >> joints)) throw std::runtime_error(std::string("cannot read ") + path);
  Model model;
  model.gravity.linear() = read_vector(in);
  for (int i = 1; i <= joints; i++) {
    int parent;
    std::string kind;
    double mass;
    in >> parent >> kind;
    const Eigen::Vector3d axis = read_vector(in);
    const Eigen::Matrix3d rotation = read_matrix(in);
    const Eigen::Vector3d translation = read_vector(in);
    in >> mass;
    const Eigen::Vector3d centre = read_vector(in);
    const Eigen::Matrix3d inertia = read_matrix(in);
    const JointIndex id = model.addJoint(parent, joint_of(kind, axis), SE3(rotation, translation), "j" + std::to_string(i));
    model.appendBodyToJoint(id, Inertia(mass, centre, inertia), SE3::Identity());
  }
  return model;
}
