// A frame of the playground: it asks its parent for a page, and shows it.
addEventListener("message", ({ data, source }) => {
  if (source !== parent) return;
  const script = element("script", { src: URL.createObjectURL(new Blob([data.source], { type: "text/javascript" })) });
  script.onload = () => begin(data.page, window.kane_programs());
  document.head.append(script);
});
parent.postMessage("ready", "*");
