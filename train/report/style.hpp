// The style of report.html.
#pragma once

namespace xgrad::html {

// The colours of lines were searched for: on their page each has a contrast of 3 at least, and any
// two stay apart for people with protanopia and deuteranopia.
inline constexpr const char* kStyle = R"(
:root{color-scheme:light;--ink:#1c2024;--soft:#5c6670;--line:#d5dade;--page:#fff;--box:#f5f7f8;--good:#00734d;--bad:#b3261e;
--c0:#0072b2;--c1:#d55e00;--c2:#dd44ff;--c3:#990000;--c4:#6611bb;--c5:#005544;--c6:#bb2288;--c7:#449977;--c8:#9988bb;--c9:#1122ff;--heat:0,114,178;--strong:#fff}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--ink:#e6e9eb;--soft:#9aa4ad;--line:#3a4147;--page:#15181b;--box:#1e2226;--good:#5cc9a0;--bad:#ff8a80;
--c0:#56b4e9;--c1:#f0883e;--c2:#44ff88;--c3:#dd22ff;--c4:#338877;--c5:#9966bb;--c6:#99eeff;--c7:#ff77bb;--c8:#ff1133;--c9:#ffcc00;--heat:86,180,233;--strong:#000}}
@media print{figure,tr,.sample{break-inside:avoid}h2{break-after:avoid}pre{white-space:pre-wrap}.wide{overflow:visible}.legend{position:static!important;max-height:none!important}
details::details-content{content-visibility:visible}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:88rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
h3{font-size:1rem;margin:1.2rem 0 .4rem}p{margin:.4rem 0;max-width:48rem}.soft,figcaption,.legend{color:var(--soft);font-size:.875rem}
.wide{overflow-x:auto}table{border-collapse:collapse;overflow-wrap:normal;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid var(--line)}
td:nth-child(2):last-child{white-space:nowrap}th{font-weight:600}th[scope=row]{position:sticky;left:0;background:var(--page);text-align:left;font-weight:400;color:var(--soft);min-width:min(15rem,45vw)}
th[scope=col]{min-width:5rem}.matrix th[scope]{min-width:0}.matrix th[scope=row]{white-space:nowrap}tr:first-child th:first-child{text-align:left}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1rem}
figure{margin:0;max-width:36rem}figcaption{font-weight:600}svg{display:block;width:100%;height:auto}
svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--line);stroke-width:.7}
polyline{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}circle,.band{fill:currentColor}.band{opacity:.18}svg:has(g:nth-of-type(9)) .band{opacity:.06}
.d1{border-top-style:dashed;stroke-dasharray:6 3}.d2{border-top-style:dotted;stroke-dasharray:1.5 2.5}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}.c8{color:var(--c8)}.c9{color:var(--c9)}
i{display:inline-block;width:1.3rem;border-top-width:3px;vertical-align:middle}i.d0{border-top-style:solid}
.legend{position:sticky;top:0;z-index:1;max-height:25vh;overflow-y:auto;background:var(--page);padding:.3rem 0;margin:0;max-width:none}
.legend span{display:inline-block;margin-right:1rem}
summary{padding:.4rem 0;cursor:pointer}
pre,code{font:.82rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.7rem;overflow-x:auto;margin:.4rem 0}
.said{white-space:pre-line}
.state{display:inline-block;padding:.1rem .6rem;border:1px solid;border-radius:1rem;font-size:.85rem}.good{color:var(--good)}.bad{color:var(--bad)}
.matrix td{background:rgba(var(--heat),var(--a));padding:.2rem .45rem;min-width:2.1rem}.matrix td.zero{color:var(--soft)}.matrix td.strong{color:var(--strong)}
.matrix th{padding:.2rem .45rem}
.samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:.7rem}
.sample{display:flow-root;border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem;font-size:.9rem}
.sample img{width:5.25rem;height:auto;image-rendering:pixelated;float:left;margin-right:.7rem;border-radius:3px}
.sample dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .6rem;margin:0}.sample dt{color:var(--soft)}.sample dd{margin:0}
mark{background:none;color:var(--bad);font-weight:700;text-decoration:underline}
.maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.8rem}
.plane{max-width:50rem}
.maps img{width:100%;height:auto;image-rendering:pixelated;border:1px solid var(--line);border-radius:3px}
)";

}  // namespace xgrad::html
