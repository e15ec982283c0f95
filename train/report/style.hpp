// The style of report.html.
#pragma once

namespace xgrad::html {

// Colours of lines are Okabe & Ito's, which most people can tell apart.
inline constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5c6670;--line:#d5dade;--page:#fff;--box:#f5f7f8;--good:#00734d;--bad:#b3261e;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#a07800;--c5:#4b4b9b;--heat:0,114,178}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9eb;--soft:#9aa4ad;--line:#3a4147;--page:#15181b;--box:#1e2226;--good:#5cc9a0;--bad:#ff8a80;
--c0:#56b4e9;--c1:#f0883e;--c2:#3fc79a;--c3:#e59ac4;--c4:#e0b83c;--c5:#9d9df0;--heat:86,180,233}}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--box:#fff;--good:#00734d;--bad:#b3261e;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#a07800;--c5:#4b4b9b;--heat:0,114,178}
figure,tr,.sample{break-inside:avoid}h2{break-after:avoid}pre{white-space:pre-wrap}.wide{overflow:visible}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
h3{font-size:1rem;margin:1.2rem 0 .4rem}p{margin:.4rem 0}.soft,figcaption,.legend{color:var(--soft);font-size:.875rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600}th[scope=row]{text-align:left;font-weight:400;color:var(--soft);white-space:normal;overflow-wrap:normal;min-width:8.5rem}
th[scope=col]{white-space:normal;min-width:6.5rem}.matrix th[scope]{min-width:0}.matrix th[scope=row]{white-space:nowrap}tr:first-child th:first-child{text-align:left}
.left td{text-align:left;white-space:normal}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1rem}
figure{margin:0;max-width:36rem}figcaption{font-weight:600}svg{display:block;width:100%;height:auto}
svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--line);stroke-width:.7}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.line.dashed{stroke-dasharray:4 3;stroke-width:1.1}.band{opacity:.18;stroke:none}
.line.c0{stroke:var(--c0)}.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}.line.c4{stroke:var(--c4)}.line.c5{stroke:var(--c5)}
.band.c0,.dot.c0{fill:var(--c0)}.band.c1,.dot.c1{fill:var(--c1)}.band.c2,.dot.c2{fill:var(--c2)}.band.c3,.dot.c3{fill:var(--c3)}
.band.c4,.dot.c4{fill:var(--c4)}.band.c5,.dot.c5{fill:var(--c5)}
.legend span{white-space:nowrap;margin-right:.8rem}.legend i{display:inline-block;width:1.4rem;margin-right:.3rem;border-top:3px solid;vertical-align:middle}
.legend i.dashed{border-top-style:dashed;border-top-width:2px}
i.c0{color:var(--c0)}i.c1{color:var(--c1)}i.c2{color:var(--c2)}i.c3{color:var(--c3)}i.c4{color:var(--c4)}i.c5{color:var(--c5)}
pre,code{font:.82rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.7rem;overflow-x:auto;margin:.4rem 0}
.said{white-space:pre-line}
.state{display:inline-block;padding:.1rem .6rem;border:1px solid;border-radius:1rem;font-size:.85rem}.good{color:var(--good)}.bad{color:var(--bad)}
.matrix td{background:rgba(var(--heat),var(--a));padding:.2rem .45rem;min-width:2.1rem}.matrix td.zero{color:var(--soft)}.matrix td.strong{color:#fff}
.matrix th{padding:.2rem .45rem}
@media (prefers-color-scheme:dark){.matrix td.strong{color:#000}}@media print{.matrix td.strong{color:#fff}}
.samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:.7rem}
.sample{display:flow-root;border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem;font-size:.9rem}
.sample img{width:5.25rem;height:auto;image-rendering:pixelated;float:left;margin-right:.7rem;border-radius:3px}
.sample dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .6rem;margin:0}.sample dt{color:var(--soft)}.sample dd{margin:0}
mark{background:none;color:var(--bad);font-weight:700;text-decoration:underline}
.maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.8rem}
.maps img{width:100%;height:auto;image-rendering:pixelated;border:1px solid var(--line);border-radius:3px}
)";

}  // namespace xgrad::html
