// A page starts with its own content, or requests the content from its server.

function begin(data, programs) {
  try {
    window.kane = new Page(data, programs);
  } catch (problem) {
    console.error(problem);
    document.body.append(element("div", { id: "message", className: "card", role: "alert", textContent: problem.message }));
  }
}

// The token is the part of the address after #, which browsers never send; it is the first message.
function connect() {
  const socket = new WebSocket(`ws://${location.host}/`);
  socket.binaryType = "arraybuffer";
  const alert = (text) => {
    if (window.kane) window.kane.say(text);
    else document.body.append(element("div", { id: "message", className: "card", role: "alert", textContent: text }));
  };
  socket.onopen = () => socket.send(location.hash.slice(1));
  socket.onclose = (e) => alert(e.code === 1008 ? `The server refused: ${e.reason}.` : "The server has closed this view.");
  const take = (numbers) => {
    const { motion } = window.kane, end = 1 + motion.nq + motion.n;
    motion.time = numbers[0];
    motion.x = numbers.slice(1, end);
    window.kane.heard(numbers.subarray(end));
    window.kane.remember();
  };
  let early = null;  // a state that arrived before the page was ready
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") {
      const { page, source } = JSON.parse(data);
      const script = element("script", { src: URL.createObjectURL(new Blob([source], { type: "text/javascript" })) });
      script.onload = () => { begin(page, window.kane_programs()); if (page.control || page.hand && page.hand.mouse) window.kane.socket = socket; if (early && window.kane) take(early); };
      document.head.append(script);
    } else if (window.kane) take(new Float64Array(data));
    else early = new Float64Array(data);
  };
}
