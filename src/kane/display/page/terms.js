// Equations of a live page: each term is a button whose reason is shown while it is hovered or focused.

Object.assign(Page.prototype, {
  equationList() {
    const list = this.data.equations.map(({ speed, unit, terms }, k) => element("details", { open: k === 0 && terms.length < 13 },
      element("summary", { textContent: `${speed} [${unit}]` }), ...terms.map((term) => this.termButton(term, unit))));
    this.reason = element("div", { id: "reason", className: "card", role: "status" });
    this.reason.hidden = true;
    document.body.append(this.reason);
    return element("details", { id: "equations" }, element("summary", { textContent: "Equations" }),
      element("p", { textContent: "The terms of an equation add up to zero. Point at a term, or reach it with Tab." }), ...list);
  },

  termButton(term, unit) {
    const value = element("output"), button = element("button", { className: "term", type: "button" }, element("span", { textContent: term.name }), value);
    const show = () => this.explain(term, unit), hide = () => { if (document.activeElement !== button) this.explain(null); };
    for (const [word, action] of [["pointerenter", show], ["focus", show], ["pointerleave", hide], ["blur", () => this.explain(null)]]) button.addEventListener(word, action);
    button.addEventListener("keydown", (e) => { if (e.key === "Escape") this.explain(null); });
    (this.termButtons ||= []).push({ term, button, value });
    return button;
  },

  // Show the reason of a term and highlight its bodies; null hides it.
  explain(term, unit = "") {
    this.explained = term && { ...term, unit };
    this.reason.hidden = !term;
    if (term) this.reason.replaceChildren(element("p", { textContent: term.why }), element("code", { textContent: term.value }), element("output"));
    this.tellTerms(true);
  },

  // Values of all terms: with the accelerations of this state, and with the multipliers of A^T lambda = M udot + h.
  termValues() {
    const { motion } = this, { n, m } = motion, s = motion.state(motion.time, motion.x), udot = motion.rhs(motion.time, motion.x).slice(motion.nq);
    const multipliers = m ? motion.multipliers(s, udot) : [];
    return motion.compiled.terms.at(s, [...udot, ...motion.inputs, ...multipliers]);
  },

  // Update the values of visible terms, some times a second.
  tellTerms(now) {
    const seen = (this.termButtons || []).filter(({ button }) => button.offsetParent);
    if (!(now || this.frames % 6 === 0) || !(seen.length || this.explained)) return;
    const values = this.termValues();
    for (const { term, value } of seen) {
      const text = shortly(values[term.place]);
      if (value.textContent !== text) value.textContent = text;
    }
    if (this.explained) this.reason.lastChild.textContent = `now ${shortly(values[this.explained.place])} ${this.explained.unit}`;
  },
});
