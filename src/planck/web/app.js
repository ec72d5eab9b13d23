// Made of page/ by `make page`.
(()=>{"use strict";const{h:e,useEffect:c,useState:i,useRef:h,Component:Be,useLayoutEffect:it,useMemo:U,render:ut}=(()=>{var e,i,d,T,z,U,h={},W=[],K=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;function n(e,t){for(var n in t)e[n]=t[n];return e}function R(e){var t=e.parentNode;t&&t.removeChild(e)}function N(e,t,n){var s,i,a,o={};for(s in t)"key"==s?i=t[s]:"ref"==s?a=t[s]:o[s]=t[s];if(arguments.length>2&&(o.children=arguments.length>3?d.call(arguments,2):n),"function"==typeof e&&null!=e.defaultProps)for(s in e.defaultProps)0[0]===o[s]&&(o[s]=e.defaultProps[s]);return r(e,o,i,a,null)}function r(t,n,s,o,i){var a={type:t,props:n,key:s,ref:o,__k:null,__:null,__b:0,__e:null,__d:0[0],__c:null,__h:null,constructor:0[0],__v:i??++T};return null!=e.vnode&&e.vnode(a),a}function c(e){return e.children}function o(e,t){this.props=e,this.context=t}function s(e,t){if(t==null)return e.__?s(e.__,e.__.__k.indexOf(e)+1):null;for(var n;t<e.__k.length;t++)if(null!=(n=e.__k[t])&&null!=n.__e)return n.__e;return"function"==typeof e.type?s(e):null}function w(e){var t,n;if(null!=(e=e.__)&&null!=e.__c){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if(null!=(n=e.__k[t])&&null!=n.__e){e.__e=e.__c.base=n.__e;break}return w(e)}}function A(t){(!t.__d&&(t.__d=!0)&&i.push(t)&&!l.__r++||U!==e.debounceRendering)&&((U=e.debounceRendering)||z)(l)}function l(){for(var e;l.__r=i.length;)e=i.sort(function(e,t){return e.__v.__b-t.__v.__b}),i=[],e.some(function(e){var t,o,i,a,r,c;e.__d&&(o=(t=(i=e).__v).__e,(r=i.__P)&&(a=[],(c=n({},t)).__v=t.__v+1,y(r,t,c,i.__n,0[0]!==r.ownerSVGElement,null!=t.__h?[o]:null,a,o??s(t),t.__h),_(a,t),t.__e!=o&&w(t)))})}function k(e,t,n,o,i,a,l,d,u,m){var f,p,g,b,j,_,w,v=o&&o.__k||W,O=v.length;for(n.__k=[],p=0;p<t.length;p++)if(null!=(f=n.__k[p]=null==(f=t[p])||"boolean"==typeof f?null:"string"==typeof f||"number"==typeof f||"bigint"==typeof f?r(null,f,null,null,f):Array.isArray(f)?r(c,{children:f},null,null,null):f.__b>0?r(f.type,f.props,f.key,null,f.__v):f)){if(f.__=n,f.__b=n.__b+1,null===(g=v[p])||g&&f.key==g.key&&f.type===g.type)v[p]=0[0];else for(j=0;j<O;j++){if((g=v[j])&&f.key==g.key&&f.type===g.type){v[j]=0[0];break}g=null}y(e,f,g=g||h,i,a,l,d,u,m),_=f.__e,(j=f.ref)&&g.ref!=j&&(b||(b=[]),g.ref&&b.push(g.ref,null,f),b.push(j,f.__c||_,f)),_!=null?(w==null&&(w=_),"function"==typeof f.type&&null!=f.__k&&f.__k===g.__k?f.__d=u=x(f,u,e):u=P(e,f,g,v,_,u),m||"option"!==n.type?"function"==typeof n.type&&(n.__d=u):e.value=""):u&&g.__e==u&&u.parentNode!=e&&(u=s(g))}for(n.__e=w,p=O;p--;)null!=v[p]&&("function"==typeof n.type&&null!=v[p].__e&&v[p].__e==n.__d&&(n.__d=s(o,p+1)),F(v[p],v[p]));if(b)for(p=0;p<b.length;p++)M(b[p],b[++p],b[++p])}function x(e,t,n){var s,o;for(o=0;o<e.__k.length;o++)(s=e.__k[o])&&(s.__=e,t="function"==typeof s.type?x(s,t,n):P(n,s,s,e.__k,s.__e,t));return t}function P(e,t,n,s,o,i){var a,r,c;if(0[0]!==t.__d)a=t.__d,t.__d=0[0];else if(n==null||o!=i||null==o.parentNode)e:if(i==null||i.parentNode!==e)e.appendChild(o),a=null;else{for(r=i,c=0;(r=r.nextSibling)&&c<s.length;c+=2)if(r==o)break e;e.insertBefore(o,i),a=i}return 0[0]!==a?a:o.nextSibling}function O(e,t,n){"-"===t[0]?e.setProperty(t,n):e[t]=n==null?"":"number"!=typeof n||K.test(t)?n:n+"px"}function p(e,t,n,s,o){var i;e:if("style"===t){if("string"==typeof n)e.style.cssText=n;else{if("string"==typeof s&&(e.style.cssText=s=""),s)for(t in s)n&&t in n||O(e.style,t,"");if(n)for(t in n)s&&n[t]===s[t]||O(e.style,t,n[t])}}else if("o"===t[0]&&"n"===t[1])i=t!==(t=t.replace(/Capture$/,"")),t=t.toLowerCase()in e?t.toLowerCase().slice(2):t.slice(2),e.l||(e.l={}),e.l[t+i]=n,n?s||e.addEventListener(t,i?E:C,i):e.removeEventListener(t,i?E:C,i);else if("dangerouslySetInnerHTML"!==t){if(o)t=t.replace(/xlink[H:h]/,"h").replace(/sName$/,"s");else if("href"!==t&&"list"!==t&&"form"!==t&&"tabIndex"!==t&&"download"!==t&&t in e)try{e[t]=n??"";break e}catch{}"function"==typeof n||(n!=null&&(!1!==n||"a"===t[0]&&"r"===t[1])?e.setAttribute(t,n):e.removeAttribute(t))}}function C(t){this.l[t.type+!1](e.event?e.event(t):t)}function E(t){this.l[t.type+!0](e.event?e.event(t):t)}function y(t,s,i,a,r,l,d,u,h){var m,f,p,v,b,j,y,_,w,O,x,g=s.type;if(0[0]!==s.constructor)return null;null!=i.__h&&(h=i.__h,u=s.__e=i.__e,s.__h=null,l=[u]),(f=e.__b)&&f(s);try{e:if("function"==typeof g){if(p=s.props,b=(f=g.contextType)&&a[f.__c],v=f?b?b.props.value:f.__:a,i.__c?x=(m=s.__c=i.__c).__=m.__E:("prototype"in g&&g.prototype.render?s.__c=m=new g(p,v):(s.__c=m=new o(p,v),m.constructor=g,m.render=ee),b&&b.sub(m),m.props=p,m.state||(m.state={}),m.context=v,m.__n=a,_=m.__d=!0,m.__h=[]),null==m.__s&&(m.__s=m.state),null!=g.getDerivedStateFromProps&&(m.__s==m.state&&(m.__s=n({},m.__s)),n(m.__s,g.getDerivedStateFromProps(p,m.__s))),j=m.props,w=m.state,_)null==g.getDerivedStateFromProps&&null!=m.componentWillMount&&m.componentWillMount(),null!=m.componentDidMount&&m.__h.push(m.componentDidMount);else{if(null==g.getDerivedStateFromProps&&p!==j&&null!=m.componentWillReceiveProps&&m.componentWillReceiveProps(p,v),!m.__e&&null!=m.shouldComponentUpdate&&!1===m.shouldComponentUpdate(p,m.__s,v)||s.__v===i.__v){m.props=p,m.state=m.__s,s.__v!==i.__v&&(m.__d=!1),m.__v=s,s.__e=i.__e,s.__k=i.__k,s.__k.forEach(function(e){e&&(e.__=s)}),m.__h.length&&d.push(m);break e}null!=m.componentWillUpdate&&m.componentWillUpdate(p,m.__s,v),null!=m.componentDidUpdate&&m.__h.push(function(){m.componentDidUpdate(j,w,O)})}m.context=v,m.props=p,m.state=m.__s,(f=e.__r)&&f(s),m.__d=!1,m.__v=s,m.__P=t,f=m.render(m.props,m.state,m.context),m.state=m.__s,null!=m.getChildContext&&(a=n(n({},a),m.getChildContext())),_||null==m.getSnapshotBeforeUpdate||(O=m.getSnapshotBeforeUpdate(j,w)),y=f!=null&&f.type===c&&null==f.key?f.props.children:f,k(t,Array.isArray(y)?y:[y],s,i,a,r,l,d,u,h),m.base=s.__e,s.__h=null,m.__h.length&&d.push(m),x&&(m.__E=m.__=null),m.__e=!1}else l==null&&s.__v===i.__v?(s.__k=i.__k,s.__e=i.__e):s.__e=te(i.__e,s,i,a,r,l,d,h);(f=e.diffed)&&f(s)}catch(t){s.__v=null,(h||l!=null)&&(s.__e=u,s.__h=!!h,l[l.indexOf(u)]=null),e.__e(t,s,i)}}function _(t,n){e.__c&&e.__c(n,t),t.some(function(n){try{t=n.__h,n.__h=[],t.some(function(e){e.call(n)})}catch(t){e.__e(t,n.__v)}})}function te(e,t,n,o,i,a,r,c){var f,v,b,g=n.props,u=t.props,m=t.type,l=0;if("svg"===m&&(i=!0),a!=null)for(;l<a.length;l++)if((v=a[l])&&(v===e||(m?v.localName==m:3==v.nodeType))){e=v,a[l]=null;break}if(e==null){if(null===m)return document.createTextNode(u);e=i?document.createElementNS("http://www.w3.org/2000/svg",m):document.createElement(m,u.is&&u),a=null,c=!1}if(null===m)g===u||c&&e.data===u||(e.data=u);else{if(a=a&&d.call(e.childNodes),b=(g=n.props||h).dangerouslySetInnerHTML,f=u.dangerouslySetInnerHTML,!c){if(a!=null)for(g={},l=0;l<e.attributes.length;l++)g[e.attributes[l].name]=e.attributes[l].value;(f||b)&&(f&&(b&&f.__html==b.__html||f.__html===e.innerHTML)||(e.innerHTML=f&&f.__html||""))}if(function(e,t,n,s,o){var i;for(i in n)"children"===i||"key"===i||i in t||p(e,i,null,n[i],s);for(i in t)o&&"function"!=typeof t[i]||"children"===i||"key"===i||"value"===i||"checked"===i||n[i]===t[i]||p(e,i,t[i],n[i],s)}(e,u,g,i,c),f)t.__k=[];else if(l=t.props.children,k(e,Array.isArray(l)?l:[l],t,n,o,i&&"foreignObject"!==m,a,r,a?a[0]:n.__k&&s(n,0),c),a!=null)for(l=a.length;l--;)null!=a[l]&&R(a[l]);c||("value"in u&&0[0]!==(l=u.value)&&(l!==e.value||"progress"===m&&!l)&&p(e,"value",l,g.value,!1),"checked"in u&&0[0]!==(l=u.checked)&&l!==e.checked&&p(e,"checked",l,g.checked,!1))}return e}function M(t,n,s){try{"function"==typeof t?t(n):t.current=n}catch(t){e.__e(t,s)}}function F(t,n,s){var o,i;if(e.unmount&&e.unmount(t),(o=t.ref)&&(o.current&&o.current!==t.__e||M(o,null,n)),null!=(o=t.__c)){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(t){e.__e(t,n)}o.base=o.__P=null}if(o=t.__k)for(i=0;i<o.length;i++)o[i]&&F(o[i],n,"function"!=typeof t.type);s||null==t.__e||R(t.__e),t.__e=t.__d=0[0]}function ee(e,t,n){return this.constructor(e,n)}function J(t,n,s){var o,i,a;e.__&&e.__(t,n),i=(o="function"==typeof s)?null:s&&s.__k||n.__k,a=[],y(n,t=(!o&&s||n).__k=N(c,null,[t]),i||h,h,0[0]!==n.ownerSVGElement,!o&&s?[s]:i?null:n.firstChild?d.call(n.childNodes):null,a,!o&&s?s:i?i.__e:n.firstChild,o),_(a,t)}d=W.slice,e={__e:function(e,t){for(var n,s,o;t=t.__;)if((n=t.__c)&&!n.__)try{if((s=n.constructor)&&null!=s.getDerivedStateFromError&&(n.setState(s.getDerivedStateFromError(e)),o=n.__d),null!=n.componentDidCatch&&(n.componentDidCatch(e),o=n.__d),o)return n.__E=n}catch(t){e=t}throw e}},T=0,o.prototype.setState=function(e,t){var s=null!=this.__s&&this.__s!==this.state?this.__s:this.__s=n({},this.state);"function"==typeof e&&(e=e(n({},s),this.props)),e&&n(s,e),e!=null&&this.__v&&(t&&this.__h.push(t),A(this))},o.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),A(this))},o.prototype.render=c,i=[],z="function"==typeof Promise?Promise.prototype.then.bind(Promise.resolve()):setTimeout,l.__r=0;var t,a,v,L,ne=0,u=0,j=[],H=e.__b,I=e.__r,B=e.diffed,V=e.__c,$=e.unmount;function f(n,s){e.__h&&e.__h(t,n,u||s),u=0;var o=t.__H||(t.__H={__:[],__h:[]});return n>=o.__.length&&o.__.push({}),o.__[n]}function Z(e){return u=1,X(S,e)}function X(e,n,s){var o=f(a++,2);return o.t=e,o.__c||(o.__=[s?s(n):S(0[0],n),function(e){var t=o.t(o.__[0],e);o.__[0]!==t&&(o.__=[t,o.__[1]],o.__c.setState({}))}],o.__c=t),o.__}function q(n,s){var o=f(a++,3);!e.__s&&g(o.__H,s)&&(o.__=n,o.__H=s,t.__H.__h.push(o))}function Y(n,s){var o=f(a++,4);!e.__s&&g(o.__H,s)&&(o.__=n,o.__H=s,t.__h.push(o))}function G(e){return u=5,D(function(){return{current:e}},[])}function D(e,t){var n=f(a++,7);return g(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Q(){j.forEach(function(t){if(t.__P)try{t.__H.__h.forEach(m),t.__H.__h.forEach(b),t.__H.__h=[]}catch(n){t.__H.__h=[],e.__e(n,t.__v)}}),j=[]}e.__b=function(e){t=null,H&&H(e)},e.__r=function(e){I&&I(e),a=0;var n=(t=e.__c).__H;n&&(n.__h.forEach(m),n.__h.forEach(b),n.__h=[])},e.diffed=function(n){B&&B(n);var s=n.__c;s&&s.__H&&s.__H.__h.length&&(1!==j.push(s)&&L===e.requestAnimationFrame||((L=e.requestAnimationFrame)||function(e){var t,n=function(){clearTimeout(s),v&&cancelAnimationFrame(t),setTimeout(e)},s=setTimeout(n,100);v&&(t=requestAnimationFrame(n))})(Q)),t=0[0]},e.__c=function(t,n){n.some(function(t){try{t.__h.forEach(m),t.__h=t.__h.filter(function(e){return!e.__||b(e)})}catch(s){n.some(function(e){e.__h&&(e.__h=[])}),n=[],e.__e(s,t.__v)}}),V&&V(t,n)},e.unmount=function(t){$&&$(t);var n=t.__c;if(n&&n.__H)try{n.__H.__.forEach(m)}catch(t){e.__e(t,n.__v)}},v="function"==typeof requestAnimationFrame;function m(e){var n=t;"function"==typeof e.__c&&e.__c(),t=n}function b(e){var n=t;e.__c=e.__(),t=n}function g(e,t){return!e||e.length!==t.length||t.some(function(t,n){return t!==e[n]})}function S(e,t){return"function"==typeof t?t(e):t}return{h:N,useEffect:q,useState:Z,useRef:G,Component:o,useLayoutEffect:Y,useMemo:D,render:J}})();let Ws=["agent_ended","agent_started","compacted","control","error","forked","mode_changed","model_changed","renamed","session_resumed"],Ot={file_changed:["before","keys"],compacted:["messages","summary"],rewound:["messages"]},X="/api/v1";class Ct extends Error{constructor(e,t,n){super(n),Object.assign(this,{status:e,kind:t})}}let I={ahead:0,now(){return Date.now()+this.ahead}};function Ns(e){let t=Date.parse(e.headers.get("date")||""),n=t+500-Date.now();t&&(n<0?-n:n)>3e3&&(I.ahead=n)}function Tt(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,e=>e.toString(16).padStart(2,"0")).join("")}async function Gt(e,t,n,s="application/json"){let i={method:e,headers:{accept:s},cache:"no-store"};e!=="GET"&&(Object.assign(i.headers,{"content-type":"application/json",...e==="POST"&&{"idempotency-key":Tt()}}),i.body=JSON.stringify(n||{}));let o=await fetch(X+t,i).catch(()=>{throw new Ct(0,"network","")});if(Ns(o),o.ok)return o;let a=(await o.json().catch(()=>null))?.error||{};throw new Ct(o.status,String(a.kind||"internal_error"),String(a.message||o.status))}let de=async(...e)=>{let t=await Gt(...e);return t.status===204?null:t.json()},v=e=>de("GET",e),l=(e,t)=>de("POST",e,t),ze=(e,t)=>de("PATCH",e,t),tn=e=>de("DELETE",e),Fe=e=>`?${new URLSearchParams(Object.entries(e).filter(([,e])=>e))}`;function Me(e){for(let t of Object.hasOwn(Ot,e.type)?Ot[e.type]:[])delete e.data[t];return e}async function ue(e,t){let n=await Gt("GET",`/sessions/${e}/events${Fe(t)}`,null,"application/x-ndjson");return(await n.text()).split(`
`).filter(Boolean).map(e=>Me(JSON.parse(e)))}let ts="ask_agent",rn="update_plan",Wn=["bash"],mn=200,In=["command","path","pattern","name","identifier","query","url"],wn={read:"path",write:"path",edit:"path",bash:"command",glob:"path",grep:"path",list_dir:"path",web_fetch:"url",load_skill:"name",ask_agent:"identifier",delegate_task:"identifier",spawn_agent:"name",destroy_agent:"identifier",interrupt_agent:"identifier"},pn={read:"count",write:"diff",edit:"diff",glob:"count",grep:"count",list_dir:"count",load_skill:"nothing",list_skills:"nothing",update_plan:"whole",ask_agent:"message",delegate_task:"message",send_response:"message",list_team:"nothing",list_models:"nothing"},Ee=500,Vn=50,$n=100,qn=["messages","turns","calls","failed_calls","questions","denials","file_changes","compactions","errors","resumes"],Y=["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens","reasoning_tokens"],N=(e,t)=>Object.fromEntries(e.map(e=>[e,t(e)])),we=()=>0;function _e(){return{seq:0,id:"",name:"",workspace:"",version:"",started:"",updated:"",parent:"",forked_at:0,mode:"",state:"done",halted:!1,agents:[],questions:[],owed:[],budget:null,files:[],usage:N(Y,we),cost_usd:0,unpriced:0,counts:N(qn,we),error:null}}function an(e,t){if(t.seq===null||t.seq===0[0])return e;let n={...e,seq:t.seq,updated:t.ts},s=Object.hasOwn(Ve,t.type)&&Ve[t.type],o=s&&Ht(s[0],t.data);return o?(s[1](n,t,o,ae(n,t.agent_id)),n.state=Ds(n),n):n}function le(e,t=_e()){for(let n of e)t=an(t,n);return t}let z=e=>typeof e=="string",G=e=>typeof e=="object"&&e!==null&&!Array.isArray(e),Kt=e=>[t=>t===null||e(t),null],_=[z],o=[z,""],ee=[Number.isInteger,0],Ut=Kt(z),je=Kt(Number.isFinite),mo=[e=>typeof e=="boolean",!1],fs=[e=>Array.isArray(e)&&e.every(z),[]],As=[()=>!0,null];function Ht(e,t){if(!G(t))return null;let n={};for(let s in e){let o=e[s];if(o===!0)continue;let i=Object.hasOwn(t,s);if(Array.isArray(o))if(i?!o[0](t[s]):o.length<2)return null;else n[s]=i?t[s]:o[1];else if(n[s]=i||!o.needed?Ht(o,i?t[s]:{}):null,!n[s])return null}return n}let Pt=N(Y,()=>ee),Rt={provider:o,model:o,id:o,context_window:[Number.isInteger,128e3]},Lt={id:o,name:o,workspace:o,version:o,options:{mode:o}},Nt={name:o,mode:o},Dt=e=>e.id||`${e.provider}/${e.model}`,R=(e,t)=>e.length<=t?e:Array.from(e).slice(0,t).join(""),zs=(e,t)=>N(Y,n=>e[n]+t[n]),ae=(e,t)=>e.agents.find(e=>e.id===t);function a(e,t,n){let s=e.agents.findIndex(e=>e.id===t&&e.status!=="ended");if(s<0)return;e.agents=e.agents.slice(),e.agents[s]={...e.agents[s],...n}}let g=(e,t,n)=>{e[t]=e[t].filter(n)};function b(e,t,n=1){e.counts={...e.counts,[t]:e.counts[t]+n}}function Ds(e){if(e.questions.length)return"waiting";let t="",n=!1;for(let s of e.agents){if(s.status==="ended")continue;if(s.status!=="idle"||s.unread.length&&!e.halted)return"running";t=t||s.last_turn||"none",n=n||s.unread.length>0}return t==="failed"||t==="capped"?"failed":n||t==="interrupted"||t==="timed_out"?"interrupted":"done"}function Ft(e,t){e.agents=e.agents.map(e=>e.waits.some(t)?{...e,waits:e.waits.filter(e=>!t(e))}:e)}function Mt(e){Ft(e,()=>!0),e.questions=[],g(e,"owed",e=>e.kind!=="ask")}function me(e,t){for(let o of t){let n=e.owed.find(e=>e.id===o);if(!n)continue;let s=ae(e,n.from);g(e,"owed",e=>e!==n),s&&a(e,s.id,{waits:s.waits.filter(e=>e.message_id!==o)})}}function fe(e,t){let n=new Set(ae(e,t)?.waits.map(e=>e.message_id));a(e,t,{waits:[]}),g(e,"questions",e=>e.agent_id!==t),g(e,"owed",e=>!n.has(e.id))}function Hs(e){return z(e)?e:e===null?"None":typeof e=="boolean"?e?"True":"False":typeof e=="number"?String(e):JSON.stringify(e)}function At(e,t){if(!G(t))return"";let s=Object.hasOwn(wn,e)?[wn[e]]:[],n=[...s,...In].find(e=>Object.hasOwn(t,e)&&z(t[e]));return n?R(t[n],mn):""}function Vs(e){if(!G(e)||!Array.isArray(e.steps))return[];let t=(e,t)=>Object.hasOwn(e,t)?Hs(e[t]):"";return e.steps.slice(0,Vn).filter(G).map(e=>({text:R(t(e,"text"),mn),status:t(e,"status")}))}function xt(e,t,n){e.mode=n.mode||e.mode,e.name=n.name||e.name}let Ve={session_started:[Lt,(e,t,{options:n,...s})=>Object.assign(e,s,{started:t.ts,mode:n.mode})],session_resumed:[Lt,(e,t,n)=>{b(e,"resumes"),Mt(e),e.version=n.version||e.version,e.mode=n.options.mode||e.mode,e.halted=!1}],renamed:[Nt,xt],mode_changed:[Nt,xt],forked:[{session_id:o,at:ee},(e,t,n)=>{Mt(e),e.parent=n.session_id,e.forked_at=n.at}],agent_started:[{agent:{needed:!0,id:_,type:o,name:o,role:o,model:Rt,delegator_id:o}},(e,t,{agent:{id:n,type:s,name:o,role:i,model:a,delegator_id:r}})=>{g(e,"agents",e=>e.id!==n),e.agents.push({id:n,type:s,name:o,role:i,delegator_id:r,model:Dt(a),status:"idle",since:t.ts,stopping:!1,turn:0,steps:0,opened_by:"",last_turn:"",ended:"",reason:"",unread:[],calls:[],waits:[],plan:[],usage:N(Y,we),cost_usd:0,unpriced:0,context:0,window:a.context_window,error:null})}],agent_ended:[{status:o,reason:o},(e,t,n)=>{let s=t.agent_id;a(e,s,{status:"ended",since:t.ts,ended:n.status,reason:R(n.reason,Ee),stopping:!1,opened_by:"",unread:[],calls:[],waits:[]}),Ft(e,e=>e.on===s),g(e,"questions",e=>e.agent_id!==s),g(e,"owed",e=>e.to!==s)}],message:[{id:_,kind:o,from:o,to:o,correlation_id:Ut},(e,t,{id:n,kind:s,from:o,to:i,correlation_id:r})=>{let l={id:n,kind:s,from:o,to:i,since:t.ts};b(e,"messages");let c=ae(e,i);c&&a(e,c.id,{unread:[...c.unread,l]}),(s==="ask"||s==="task")&&o!=="user"?e.owed=[...e.owed,l]:s==="response"&&r&&me(e,[r])}],delivery:[{ids:fs,state:o},(e,t,n,s)=>{s&&a(e,s.id,{unread:s.unread.filter(e=>!n.ids.includes(e.id))}),n.state!=="delivered"&&me(e,n.ids)}],wait:[{on:_,message_id:_,deadline:o,call_id:Ut},(e,t,n,s)=>{if(!s||s.opened_by===""||s.stopping)return;a(e,s.id,{waits:[...s.waits,{...n,call_id:n.call_id||"",since:t.ts}]})}],control:[{action:_,target:o},(e,t,n)=>{let s=n.action==="halt";for(let t of e.agents.filter(e=>s||e.id===n.target))n.action==="destroy"&&a(e,t.id,{ended:"destroyed"}),t.opened_by&&(a(e,t.id,{stopping:!0}),fe(e,t.id));e.halted=e.halted||s}],turn_start:[{message_id:o},(e,t,n)=>{fe(e,t.agent_id||""),b(e,"turns"),e.halted=!1,a(e,t.agent_id,{status:"streaming",since:t.ts,turn:t.turn,steps:0,opened_by:n.message_id,calls:[],error:null,stopping:!1})}],turn_end:[{status:o},(e,t,n,s)=>{if(!s)return;fe(e,s.id),me(e,e.owed.filter(e=>e.id===s.opened_by&&e.kind==="ask").map(e=>e.id)),a(e,s.id,{status:"idle",since:t.ts,last_turn:n.status,opened_by:"",calls:[],stopping:!1})}],assistant_message:[{message:{needed:!0,usage:Pt}},(e,t,{message:{usage:n}},s)=>{if(!s)return;let o=n.input_tokens+n.cache_read_tokens+n.cache_write_tokens+n.output_tokens;a(e,s.id,{steps:s.steps+1,context:o||s.context,since:t.ts})}],tool_start:[{id:_,name:o,args:As},(e,t,{id:n,name:s,args:o},i)=>{if(!i)return;let r={id:n,name:s,subject:At(s,o),since:t.ts,plan:s===rn?Vs(o):[]};a(e,i.id,{status:"executing_tools",since:t.ts,calls:[...i.calls,r]})}],tool_end:[{id:_,name:o,ok:mo},(e,t,n,s)=>{b(e,"calls"),n.ok||b(e,"failed_calls"),g(e,"questions",e=>!n.id||e.call_id!==n.id);let o=s?.calls.find(e=>e.id===n.id);if(!o)return;let i=s.calls.filter(e=>e.id!==n.id),c=i.some(e=>e.name===ts),r=s.waits.filter(e=>e.call_id===n.id||!e.call_id&&!c).map(e=>e.message_id);a(e,s.id,{status:i.length?"executing_tools":"streaming",since:t.ts,calls:i,waits:s.waits.filter(e=>!r.includes(e.message_id)),plan:o.name===rn&&n.ok?o.plan:s.plan}),g(e,"owed",e=>!r.includes(e.id))}],usage:[{usage:Pt,cost_usd:je},(e,t,n,s)=>{let o=e=>({usage:zs(e.usage,n.usage),cost_usd:e.cost_usd+(n.cost_usd||0),unpriced:e.unpriced+(n.cost_usd===null?1:0)});s&&a(e,s.id,o(s)),Object.assign(e,o(e))}],budget:[{limit_usd:je,spent_usd:je},(e,t,n)=>{n.limit_usd!==null&&(e.budget=n)}],permission_request:[{id:_,call_id:o,tool:o,text:o,adds:o,reason:o,digest:o,deadline:o},(e,t,n,s)=>{if(b(e,"questions"),s?.stopping)return;let o=N(["text","adds","reason"],e=>R(n[e],Ee));e.questions=[...e.questions,{...n,...o,seq:t.seq||0,agent_id:t.agent_id||"",since:t.ts}]}],permission_decision:[{call_id:o,decision:o,request_id:o},(e,t,n)=>{n.decision==="deny"&&b(e,"denials"),g(e,"questions",e=>e.id!==n.request_id&&!(n.call_id&&e.call_id===n.call_id))}],file_changed:[{path:_,call_id:o,after_sha256:o},(e,t,{after_sha256:n,...s})=>{let o=e.files.find(e=>e.path===s.path),i={...s,agent_id:t.agent_id||"",changes:(o?.changes||0)+1,removed:n==="",since:t.ts};e.files=[...e.files.filter(e=>e!==o),i].slice(-$n),b(e,"file_changes")}],compacted:[{tokens_after:ee,window:ee},(e,t,n,s)=>{b(e,"compactions"),s&&a(e,s.id,{context:n.tokens_after,window:n.window||s.window})}],rewound:[{},(e,t)=>a(e,t.agent_id,{context:0})],model_changed:[{model:{needed:!0,...Rt}},(e,t,n)=>{a(e,t.agent_id,{model:Dt(n.model),window:n.model.context_window})}],error:[{kind:o,message:o},(e,t,n)=>{let s={agent_id:t.agent_id||"",kind:n.kind,message:R(n.message,Ee),since:t.ts};b(e,"errors"),a(e,t.agent_id,{error:s}),e.error=s}]},$s=new Set([...Ws,"checked"]);function wt(e){let t=[];for(let n of e)bt(t,n);return t}function D(e,t,n,s=400){for(let o=e.length-1;o>=Math.max(0,e.length-s);o-=1){if(!t(e[o]))continue;return e[o]={...e[o],...n(e[o])},e[o]}return null}let Oe=e=>t=>t.kind==="call"&&t.id===e;function bt(e,t){let{seq:l,ts:d,agent_id:i,turn:a,type:o}=t,n=typeof t.data=="object"&&t.data!==null?t.data:{},s=(t,n)=>e.push({seq:l,ts:d,agent:i||"",turn:a,kind:t,...n}),r=e=>e.kind==="turn"&&e.agent===i&&e.turn===a,c=(e,t,s)=>({id:String(n.id),name:String(n.name),subject:e,args:t,end:s,asked:null});switch(o){case"message":{let t=String(n.text??"");n.kind==="response"&&D(e,e=>e.kind==="said"&&e.agent===n.from,e=>({repeated:e.repeated||e.text===t&&!e.thinking}),8),s(n.from!=="user"?"mail":n.origin&&n.origin!=="user"?"told":"prompt",{mail:String(n.kind),from:String(n.from),to:String(n.to),text:t,images:Array.isArray(n.images)?n.images.length:0});break}case"assistant_message":{let i=Array.isArray(n.message?.parts)?n.message.parts:[],t=(e,t)=>i.filter(t=>t?.type===e).map(e=>String(e.text??"")).join(t),e=t("text",""),o=t("thinking",`
`);return(e||o)&&s("said",{text:e,thinking:o}),e}case"tool_start":s("call",c(At(String(n.name),n.args),n.args,null));break;case"tool_end":{let t={ok:Boolean(n.ok),output:String(n.output??""),exit:n.exit_code??null,ms:n.duration_ms||0,error:n.error?.kind||"",notice:n.notice||""};D(e,Oe(n.id),()=>({end:t}))||s("call",c("",null,t));break}case"permission_request":D(e,Oe(n.call_id),()=>({asked:{decision:""}}));break;case"permission_decision":D(e,Oe(n.call_id),()=>({asked:{decision:n.decision,scope:n.scope}}))||s("note",{type:o,data:n});break;case"turn_start":s("turn",{cost:0,steps:0,tokens:0});break;case"usage":{let{input_tokens:t=0,output_tokens:s=0,cache_read_tokens:o=0,cache_write_tokens:i=0}=n.usage||{};D(e,r,({cost:e,steps:a,tokens:r})=>({cost:e===null||n.cost_usd===null?null:e+(n.cost_usd||0),steps:a+1,tokens:r+t+s+o+i}));break}case"turn_end":s("end",{status:String(n.status),began:D(e,r,()=>({}),4e3)});break;case"rewound":{let t=Number(n.to);for(let n=e.length-1;n>=0&&e[n].seq>t;n-=1)e[n].agent===i&&(e[n]={...e[n],gone:!0});let a=e[e.length-1];(a?.type!==o||a.data.to!==t)&&s("note",{type:o,data:{to:t}});break}default:$s.has(o)&&s("note",{type:o,data:n})}return""}let io=4e4,ht=500,co=1e4;class dt{constructor(e,{state:t,...n}){Object.assign(this,{path:e,state:t,on:n,retry:ht,closed:!1}),this.wake=()=>{document.visibilityState==="visible"&&this.isSilent()&&this.open()},this.back=()=>this.open(),document.addEventListener("visibilitychange",this.wake),addEventListener("online",this.back),this.watch=setInterval(()=>{this.source&&this.isSilent()&&this.fail()},5e3),this.open()}isSilent(){return Date.now()-this.heard>io}open(){if(this.closed)return;this.drop(),this.heard=Date.now();let e=new EventSource(X+this.path());this.source=e;let t=(t,n)=>e.addEventListener(t,e=>{this.heard=Date.now(),this.retry=ht,n(e)});t("open",()=>this.state("live")),t("ping",()=>{}),t("end",()=>this.end());for(let[e,n]of Object.entries(this.on))t(e,e=>n(JSON.parse(e.data)));e.onerror=()=>{this.source===e&&this.fail(e.readyState===EventSource.CLOSED)}}async fail(e=!1){if(this.drop(),e&&await this.isOver()){this.end();return}if(this.closed)return;this.state("lost"),clearTimeout(this.timer),this.timer=setTimeout(()=>this.open(),this.retry),this.retry=Math.min(this.retry*2,co)}async isOver(){let e=new AbortController;try{return(await fetch(X+this.path(),{headers:{accept:"text/event-stream"},signal:e.signal,cache:"no-store"})).status===204}catch{return!1}finally{e.abort()}}drop(){clearTimeout(this.timer),this.source?.close(),this.source=null}end(){this.close(),this.state("ended")}close(){this.closed=!0,this.drop(),clearInterval(this.watch),document.removeEventListener("visibilitychange",this.wake),removeEventListener("online",this.back)}}class kn{constructor(e,t){this.state=e,this.draw=t,this.queued=!1}set(e){Object.assign(this.state,e),this.touch()}touch(){if(this.queued)return;this.queued=!0,requestAnimationFrame(()=>{this.queued=!1,this.draw(this.state)})}}let d=500,fo=250,go=65536,wo=6e4,et=({text:e="",thinking:t="",output:n={}})=>({text:e,thinking:t,output:new Map(Object.entries(n)),note:""});class Ne{constructor(e,t){Object.assign(this,{id:e,touch:t,status:"loading",problem:null,connection:"connecting",lostSince:0,board:_e(),events:[],first:0,blocks:[],facts:0,lanes:0,words:0,live:new Map,replay:null,older:!1,checkpoints:new Map([[0,_e()]]),pages:new Map,finished:"",offline:!1})}static of(e,t){let n=new Ne(t.id||"",()=>{});return Object.assign(n,{offline:!0,status:"ready",first:1,events:e.map(Me)}),n.board=le(n.events),n.rebuild(),n}async open(){try{let e=await v(`/sessions/${this.id}/board`),t=Math.max(0,Math.floor((e.seq-1)/d)-1)*d,n=e.seq?await ue(this.id,{after:t,limit:4*d}):[];if(this.closed)return;this.first=t+1,this.events=n,this.board=le(n.filter(t=>t.seq>e.seq),e),this.rebuild(),this.status="ready",this.follow()}catch(e){Object.assign(this,{status:"error",problem:e})}this.touch()}follow(){this.hide=()=>{clearTimeout(this.hiding),document.visibilityState==="hidden"?this.hiding=setTimeout(()=>this.pause(),wo):this.stream||this.connect()},document.addEventListener("visibilitychange",this.hide),this.connect()}pause(){this.stream?.close(),this.stream=null}connect(){if(this.closed)return;this.stream=new dt(()=>`/sessions/${this.id}/events?after=${this.board.seq}`,{message:e=>this.hear(e),live:e=>this.join(e),reset:()=>this.onreset(),state:e=>{e==="lost"&&this.connection!=="lost"&&(this.lostSince=I.now()),this.connection=e,this.touch()}})}wake(){this.connection==="ended"&&this.connect()}hear(e){e.seq===null?this.hearDelta(e):e.seq>this.board.seq&&this.hearFact(Me(e))}hearFact(e){this.board=an(this.board,e),e.seq%d===0&&this.checkpoints.set(e.seq,this.board),this.events.push(e);let s=bt(this.blocks,e);s&&(this.finished=s),this.facts+=1;let{agent_id:o,type:t,data:i}=e,n=this.live.get(o);n&&((t==="assistant_message"||t==="turn_end")&&Object.assign(n,{text:"",thinking:"",note:""}),t==="tool_end"&&n.output.delete(i.id),(t==="turn_end"||t==="agent_ended")&&this.live.delete(o)),this.drawLanes(),this.touch()}drawLanes(){if(this.waiting)return;let e=()=>{this.waiting=0,this.drawn=Date.now(),this.lanes+=1,this.touch()},t=(this.drawn||0)+fo-Date.now();t<=0?e():this.waiting=setTimeout(e,t)}hearDelta({agent_id:e,type:t,data:n}){this.live.has(e)||this.live.set(e,et({}));let s=this.live.get(e),o=(e,t)=>(e+t).slice(-go);if(t==="text_delta")s.text=o(s.text,n.text);else if(t==="thinking_delta")s.thinking=o(s.thinking,n.text);else if(t==="tool_progress")s.output.set(n.id,o(s.output.get(n.id)||"",n.text));else if(t==="compacting")s.note="compacting";else if(t==="status"&&n.component==="model")n.state==="discarded"&&Object.assign(s,{text:"",thinking:""}),s.note=n.state==="discarded"||n.detail?`${n.state} ${n.detail||""}`.trim():"";else return;this.words+=1,this.touch()}join(e){this.live=new Map(Object.entries(e).map(([e,t])=>[e,et(t)])),this.words+=1,this.touch()}rebuild(){this.blocks=wt(this.events),this.facts+=1,this.lanes+=1}async loadOlder(e=this.first-d){if(this.older||this.first<=1||this.offline)return;this.older=!0,this.touch();try{let n=Math.max(0,Math.floor((Math.max(1,e)-1)/d)*d),s=[],t=n;for(;t<this.first-1;){let e=await ue(this.id,{after:t,before:Math.min(this.first,t+5001),limit:5e3});if(!e.length)break;s.push(...e),t=e[e.length-1].seq}this.events=[...s,...this.events],this.first=n+1,this.rebuild()}finally{this.older=!1,this.touch()}}async show(e){let t=e===null||e>=this.board.seq?null:Math.max(1,e);this.asked=t;let n=null;if(t!==null){let e=Math.floor((t-1)/d)*d,[o,i]=await Promise.all([this.findCheckpoint(e),this.findPage(e)]);if(this.asked!==t||this.closed)return;let s=i.filter(e=>e.seq<=t);n={seq:t,board:le(s,o),events:[...this.pages.get(e-d)||[],...s]}}this.replay=n,this.lanes+=1,this.touch()}async findCheckpoint(e){if(!this.checkpoints.has(e)){let t=e;for(;t>0&&!this.checkpoints.has(t);)t-=d;let n=this.first-1<=t&&this.events.length;this.checkpoints.set(e,n?le(this.find(t,e),this.checkpoints.get(t)):await v(`/sessions/${this.id}/board?at=${e}`))}return this.checkpoints.get(e)}find(e,t){return this.events.filter(n=>n.seq>e&&n.seq<=t)}async findPage(e){return this.first-1<=e?this.find(e,e+d):(this.pages.has(e)||this.pages.set(e,await ue(this.id,{after:e,before:e+d+1,limit:d})),this.pages.get(e))}close(){this.closed=!0,this.pause(),clearTimeout(this.waiting),clearTimeout(this.hiding),this.hide&&document.removeEventListener("visibilitychange",this.hide)}}const Oo="allowAlways allowOnce allowSession answer budget by by.agent by.call by.turn call.command call.exit call.output call.runs cancel card.calls card.cost card.fresh card.model card.noTurn card.output card.read card.role card.tokens card.unread card.used card.waits card.window card.written changes.empty changes.files changes.lost changes.turn changes.undo changes.undone check.error check.ok check.warning close code code.of config.show config.title conn.ended conn.lost conv.all conv.begin conv.edit conv.empty conv.filter conv.find conv.forget conv.goOn conv.images conv.none conv.older conv.rewind conv.steps conv.thinking conv.toEnd cost.none cost.unknown cost.whole count.calls count.denials count.errors count.failed count.files count.mail decision.allow decision.deny deny denyReason diff diff.added diff.hidden diff.removed doctor.run doctor.title door.bad door.code door.enter door.title door.words error.away export fold fork fork.made from help inbox.adds inbox.asks inbox.call inbox.count inbox.empty inbox.expires inbox.hidden inbox.in inbox.late inbox.lost inbox.more inbox.none inbox.noRule inbox.of inbox.place inbox.reason inbox.rule inbox.shown inbox.why inbox.wider keys.close keys.compose keys.find keys.help keys.pan keys.rows keys.stop keys.zoom kind lanes.asks lanes.hint lanes.label lanes.mail lanes.older lanes.table lanes.tool lanes.waits lanes.work language.en language.es live.compacting loading look.auto look.dark look.keys look.light look.notify look.theme look.title look.words mail.ask mail.prompt mail.response mail.task md.image md.table mode.ask mode.full mode.label mode.plan mode.read-only mode.workspace models.busy models.empty models.price models.test models.title models.used models.window models.works more nav.changes nav.conversation nav.inbox nav.label nav.session nav.sessions nav.settings nav.team nobody note.checked note.compacted note.destroyed note.ended note.forked note.halted note.interrupted note.mode note.model note.renamed note.resumed note.rewound note.started note.told plan replay.at replay.back replay.label replay.live replay.on replay.pause replay.place replay.play replay.shown retry say.busy say.hint say.idle say.label say.queue say.send say.steer say.team say.to scope.once scope.rule scope.session search.label search.none session.done session.failed session.interrupted session.running session.unknown session.waiting sessions.acts sessions.blank sessions.delete sessions.empty sessions.find sessions.fork sessions.held sessions.new sessions.none sessions.origin sessions.rename sessions.sure sessions.where set.leave set.server set.version set.workspace setup.address setup.change setup.default setup.done setup.first setup.go setup.have setup.kept setup.key setup.model setup.name setup.other setup.provider setup.title setup.where setup.words showAll since skip start.budget start.busy start.default start.example start.free start.go start.none start.prompt state state.asks state.ended state.error state.failed state.idle state.stopping state.thinking state.unread state.waits step.completed step.in_progress step.pending stop team.agents team.empty team.label teams.check teams.empty teams.ok teams.title time time.ago time.now to tokens turn.capped turn.completed turn.failed turn.interrupted turn.timed_out undo.commands undo.done undo.look undo.none undo.plan undo.take undo.tick why why.on you".split(" "),Ze=e=>Object.fromEntries(e.split(`
`).map((e,t)=>[Oo[t],e])),Qe=Ze(`Always allow
Allow once
Allow in this session
Answer
{spent} of {limit} spent
Group by
Agent
Call
Turn
whole command
exit {code}
Output of the call
running
Cancel
Running
Cost
fresh
Change model…
none yet
output
cache read
Role
Tokens
Unread
{used} of {all} tokens
Waits for
Window
cache written
No file has been changed in this session.
{n} file|{n} files
The log can't tell what this call made of the file.
turn {n}
an undo
undone
Error
Fine
Warning
Close
Code
Code, {language}
{n} key in force|{n} keys in force
Configuration
This session was closed. What is shown stays; a message opens it again.
No connection for {span}. What is shown can still be read; it goes on by itself.
All
Here it begins.
Edit and go on from here
Nothing has been said yet. Say what is to be done.
Show one agent
Find in this session
Everyone forgets what came after this message. Files stay as they are.
Go on from here
{n} picture attached|{n} pictures attached
Nothing here matches.
Reading what was before…
Only go back
{n} step|{n} steps
thinking
To the newest ↓
$ ?
price unknown
What this session has cost
call|calls
denial|denials
error|errors
failed
file|files
message|messages
allowed
denied
Deny
Deny with this reason
diff
added:
{n} more line is not shown.|{n} more lines are not shown.
removed:
Check everything
What works here
This code is not valid, or no longer. A code is good once, for a minute.
One-time code
Enter
This page is for whoever started it
It opens with a one-time code. This gives you a fresh one:
The server does not answer. Look whether “planck serve” still runs.
Export {format}
show less
Fork
is a session of its own now
From
Keys
Adds
{agent} asks
What is to be done
{n} question waits|{n} questions wait
Nobody asks you anything.
Expires
{n} line is not in this preview. The call above is whole.|{n} lines are not in this preview. The call above is whole.
in {span}
Somebody answered this already, or it is no longer asked.
The questions can't be read without a connection.
More answers
nothing
This can only be answered for once.
Question of {agent}
“Always” is written to {place}.
Why not (the agent reads it)
For longer than once, this would be allowed:
what it would do
Why
wider:
Close, or leave the input
Write a message
Find
This help
Pan the lanes
Go through agents or changes
Stop every turn
Zoom the lanes, 0 shows all
Kind
asks you
Point at a bar to read it · ← → pan · + − zoom
Lanes of the team over time
Newest messages between agents
older
What each agent does
tool
waits
model
English
Español
making room in its window…
Loading…
As the system
Dark
Single-key shortcuts
Light
Notify me of questions while this tab is hidden
Theme
This page
Language
ask
prompt
response
task
picture: {alt}
Table
ask
full
Permissions
plan
read-only
workspace
Testing…
No model can be used yet.
{input} in, {output} out per million tokens
Test
Models
in use
window {n}
answers in {time}
Show more
Changes
Conversation
Inbox
Main
This session
Sessions
Settings
Team
nobody
Checked: {status}
{name}'s history was made shorter: {before} → {after} tokens
{name} was told to end
{name} ended {reason}
Forked from another session at event {seq}
Everything was stopped
{name} was interrupted
Permissions are “{mode}” from here on
{name} goes on with {model}
Renamed to {name}
Opened again
Everyone was taken back to event {seq}
{name} joined, on {model}
Told to {name}:
Plan
event {seq} of {head}
One event back
Replay
live
One event on
Pause
Place in the log
Play from here
You see event {seq}, not what is now.
Try again
Steer the team…
Enter sends, Ctrl+Enter queues, Shift+Enter is a new line
Say what is to be done…
Your message
Queue
Send
Steer
to the team
Send to
once
always
this session
Said in sessions
No sentence says this.
done
failed
interrupted
running
can't be read
asks you
Actions for {name}
nothing asked yet
Delete…
No sessions yet. Say above what is to be done.
Find a session, or words in one
fork of {name} at event {seq}
open
New session
No session is called this or began with it.
Where it was forked
Rename
Delete for good
Open in process {pid} on {host}
Sign out of this browser
Server
Version
Workspace
Address
Set up another
the vendor's default
It answers, and is kept as the default model.
Set up a model
Test and keep
Sessions start with
Goes to a file only you can read, and is never shown again
Key
Model
Name
Another server…
Provider
Default model
Of a server that speaks the OpenAI dialect
One small question is sent before anything is kept.
show all {n} lines
Since
Skip to the content
Budget (USD)
Starting…
default
The tests fail. Find out why, and mend it.
no limit
Start
There is no model yet. Set one up first; it takes a minute.
What is to be done?
State
asks you
ended
failed: {kind}
failed
idle
stopping
thinking
{n} unread
waits for {name}
done
at work
to do
Stop
Agents
No agent has started yet.
Team over time
Check
No teams here. “planck teams new” makes one.
ready
Teams
Time
{span} ago
just now
To
{n} tokens
limit reached
completed
failed
interrupted
out of time
{n} command ran here and can't be undone|{n} commands ran here and can't be undone
{n} file is as it was. To undo that:|{n} files are as they were. To undo that:
Preview undo
There is nothing to take back.
What an undo would do now
Undo {n} file|Undo {n} files
Tick what is to be taken back.
Why nothing moves
waits for
you`),xo=Ze(`Permitir siempre
Permitir una vez
Permitir en esta sesión
Responder
{spent} de {limit} gastados
Agrupar por
Agente
Llamada
Turno
orden completa
salida {code}
Salida de la llamada
en curso
Cancelar
En curso
Coste
nuevos
Cambiar modelo…
ninguno todavía
salida
caché leída
Papel
Tokens
Sin leer
{used} de {all} tokens
Espera a
Ventana
caché escrita
No se ha cambiado ningún archivo en esta sesión.
{n} archivo|{n} archivos
El registro no dice qué hizo esta llamada con el archivo.
turno {n}
deshace
deshecho
Error
Bien
Aviso
Cerrar
Código
Código, {language}
{n} clave en vigor|{n} claves en vigor
Configuración
Esta sesión se cerró. Lo mostrado se conserva; un mensaje la abre de nuevo.
Sin conexión desde hace {span}. Lo mostrado se puede leer; seguirá por sí sola.
Todos
Aquí empieza.
Editar y seguir desde aquí
Aún no se ha dicho nada. Di qué hay que hacer.
Mostrar un agente
Buscar en esta sesión
Todos olvidan lo que vino después de este mensaje. Los archivos quedan como están.
Seguir desde aquí
{n} imagen adjunta|{n} imágenes adjuntas
Nada coincide.
Leyendo lo anterior…
Solo volver atrás
{n} paso|{n} pasos
razonamiento
A lo más reciente ↓
$ ?
precio desconocido
Lo que ha costado esta sesión
llamada|llamadas
denegación|denegaciones
error|errores
fallidas
archivo|archivos
mensaje|mensajes
permitido
denegado
Denegar
Denegar con este motivo
diferencias
añadido:
{n} línea más no se muestra.|{n} líneas más no se muestran.
quitado:
Comprobar todo
Qué funciona aquí
Este código no vale, o ya no. Un código sirve una vez, durante un minuto.
Código de un solo uso
Entrar
Esta página es de quien la inició
Se abre con un código de un solo uso. Esto da uno nuevo:
El servidor no responde. Mira si «planck serve» sigue en marcha.
Exportar {format}
mostrar menos
Bifurcar
es ahora una sesión propia
De
Teclas
Añade
{agent} pregunta
Qué se va a hacer
{n} pregunta espera|{n} preguntas esperan
Nadie te pregunta nada.
Caduca
{n} línea no está en esta vista previa. La llamada de arriba está completa.|{n} líneas no están en esta vista previa. La llamada de arriba está completa.
en {span}
Alguien ya respondió, o ya no se pregunta.
Sin conexión no se pueden leer las preguntas.
Más respuestas
nada
Esto solo puede responderse una vez.
Pregunta de {agent}
«Siempre» se escribe en {place}.
Por qué no (el agente lo lee)
Por más de una vez, se permitiría:
qué haría
Por qué
más amplio:
Cerrar, o salir del campo
Escribir un mensaje
Buscar
Esta ayuda
Desplazar los carriles
Recorrer agentes o cambios
Detener todos los turnos
Ampliar los carriles, 0 muestra todo
Clase
te pregunta
Señala una barra para leerla · ← → mover · + − ampliar
Carriles del equipo en el tiempo
Mensajes más recientes entre agentes
antes
Qué hace cada agente
herramienta
espera
modelo
English
Español
haciendo sitio en su ventana…
Cargando…
Como el sistema
Oscuro
Atajos de una tecla
Claro
Avisarme de preguntas con esta pestaña oculta
Tema
Esta página
Idioma
pregunta
encargo
respuesta
tarea
imagen: {alt}
Tabla
preguntar
total
Permisos
plan
solo lectura
espacio de trabajo
Probando…
Aún no hay ningún modelo utilizable.
{input} entrada, {output} salida por millón de tokens
Probar
Modelos
en uso
ventana {n}
responde en {time}
Mostrar más
Cambios
Conversación
Bandeja
Principal
Esta sesión
Sesiones
Ajustes
Equipo
nadie
Comprobado: {status}
El historial de {name} se acortó: {before} → {after} tokens
Se pidió a {name} que terminara
{name} terminó {reason}
Bifurcada de otra sesión en el evento {seq}
Se detuvo todo
Se interrumpió a {name}
Los permisos son «{mode}» desde aquí
{name} sigue con {model}
Ahora se llama {name}
Abierta de nuevo
Todos volvieron al evento {seq}
{name} se unió, con {model}
Dicho a {name}:
Plan
evento {seq} de {head}
Un evento atrás
Reproducción
en vivo
Un evento adelante
Pausa
Lugar en el registro
Reproducir desde aquí
Ves el evento {seq}, no el presente.
Reintentar
Orienta al equipo…
Intro envía, Ctrl+Intro pone en cola, Mayús+Intro es una línea nueva
Di qué hay que hacer…
Tu mensaje
Poner en cola
Enviar
Orientar
al equipo
Enviar a
una vez
siempre
esta sesión
Dicho en las sesiones
Ninguna frase dice esto.
hecha
fallida
interrumpida
en marcha
ilegible
te pregunta
Acciones para {name}
sin encargo todavía
Borrar…
Aún no hay sesiones. Di arriba qué hay que hacer.
Buscar una sesión, o palabras en ella
bifurcación de {name} en el evento {seq}
abierta
Nueva sesión
Ninguna sesión se llama o empezó así.
Dónde se bifurcó
Renombrar
Borrar para siempre
Abierta en el proceso {pid} de {host}
Cerrar sesión en este navegador
Servidor
Versión
Espacio de trabajo
Dirección
Configurar otro
el modelo por defecto
Responde, y queda como modelo por defecto.
Configura un modelo
Probar y guardar
Las sesiones empiezan con
Va a un archivo que solo tú puedes leer, y no se muestra más
Clave
Modelo
Nombre
Otro servidor…
Proveedor
Modelo por defecto
De un servidor que habla el dialecto de OpenAI
Se envía una pregunta pequeña antes de guardar nada.
mostrar las {n} líneas
Desde hace
Saltar al contenido
Presupuesto (USD)
Empezando…
por defecto
Las pruebas fallan. Averigua por qué y arréglalo.
sin límite
Empezar
Aún no hay modelo. Configura uno primero; es un minuto.
¿Qué hay que hacer?
Estado
te pregunta
terminado
falló: {kind}
falló
en reposo
parando
pensando
{n} sin leer
espera a {name}
hecho
en curso
pendiente
Detener
Agentes
Ningún agente ha empezado.
El equipo en el tiempo
Comprobar
No hay equipos. «planck teams new» crea uno.
listo
Equipos
Hora
hace {span}
ahora mismo
A
{n} tokens
límite alcanzado
completado
fallido
interrumpido
sin tiempo
se ejecutó {n} orden que no se puede deshacer|se ejecutaron {n} órdenes que no se pueden deshacer
{n} archivo está como antes. Para deshacerlo:|{n} archivos están como antes. Para deshacerlo:
Ver qué desharía
No hay nada que deshacer.
Qué haría deshacer ahora
Deshacer {n} archivo|Deshacer {n} archivos
Marca lo que hay que deshacer.
Por qué nada avanza
espera a
tú`);let Ke={en:Qe,es:xo},Ue=Object.keys(Ke),w="en",Bt,We,re,Ie,qe,Ye;function Ge(e){let n=[e,...globalThis.navigator?.languages||[]];w=n.map(e=>String(e||"").slice(0,2)).find(e=>Ue.includes(e))||"en";let t=e=>new Intl.DateTimeFormat(w,{hourCycle:"h23",...e});return Bt=new Intl.PluralRules(w),We=new Intl.NumberFormat(w),re=new Intl.NumberFormat(w,{maximumFractionDigits:1}),Ie=t({hour:"2-digit",minute:"2-digit"}),qe=t({dateStyle:"medium",timeStyle:"medium"}),Ye=t({day:"numeric",month:"short"}),w}Ge("");function t(e,t={}){let[n,s=n]=(Ke[w][e]??e).split("|");return(Bt.select(t.n)==="one"?n:s).replace(/\{(\w+)\}/g,(e,n)=>{let s=t[n];return typeof s=="number"?r(s):String(s??"")})}let u=(e,n)=>Object.hasOwn(Qe,`${e}.${n}`)?t(`${e}.${n}`):n,r=e=>We.format(e);function P(e){return e<1e3?r(e):e<999950?`${re.format(e/1e3)}k`:`${re.format(e/1e6)}M`}function p(e){let t=e>=.1||e===0?2:4;return`$${new Intl.NumberFormat(w,{minimumFractionDigits:t,maximumFractionDigits:t}).format(e)}`}let tt=({cost_usd:e,unpriced:n})=>n?e?`≥ ${p(e)}`:t("cost.none"):p(e);function x(e){let t=Math.max(0,Math.floor(e/1e3)),[n,s]=t<90?[1,"s"]:t<5400?[60,"min"]:t<172800?[3600,"h"]:[86400,"d"];return`${r(Math.floor(t/n))} ${s}`}let Te=e=>e<1e4?`${re.format(e/1e3)} s`:x(e),B=e=>e?Ie.format(new Date(e)):"",Z=e=>e?qe.format(new Date(e)):"";function at(e,n){let s=Date.parse(e);return s?n-s<6e4?t("time.now"):n-s<12*36e5?t("time.ago",{span:x(n-s)}):`${Ye.format(s)} ${Ie.format(s)}`:""}let ho=/[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu,uo=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]/g,lo=/^[\x20-\x7e\n\t]*$/;function n(e){let t=typeof e=="string"?e:e==null?"":String(e);return lo.test(t)?t:t.replace(/\r\n/g,`
`).replace(ho,(e,t,n)=>{if(e==="‍"&&/\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u.test(n.slice(Math.max(0,t-8),t)))return e;let s=e.codePointAt(0);return s<256?`\\x${s.toString(16).padStart(2,"0")}`:`\\u${s.toString(16).padStart(4,"0")}`})}let se=e=>n(String(e??"").replace(uo,"").replace(/\r\n?/g,`
`));function s(e,t){let s=n(e).replace(/\s+/g," ").trim();if(s.length<=t)return s;let o=Array.from(s);if(o.length<=t)return s;let i=Math.floor((t-1)/3);return`${o.slice(0,t-1-i).join("")}…${i?o.slice(-i).join(""):""}`}let mt=8,m=(e,n)=>{if(n==="user")return t("you");let s=e.agents.find(e=>e.id===n);return s?s.name||s.type:n||t("nobody")},pt=(e,t)=>{if(t==="user")return"you";let n=e.agents.findIndex(e=>e.id===t);return n<0?"none":`${n%mt}${n>=mt?" ring":""}`},oo={work:"●",tool:"●",waits:"◌",asks:"▲",idle:"○",failed:"✗",ended:"–"};function vt(e,n){let i=e.questions.find(e=>e.agent_id===n.id),o=(e,t,s=n.since)=>({kind:e,mark:oo[e],word:t,since:s});if(n.status==="ended")return n.ended==="failed"?o("failed",t("state.failed")):o("ended",t("state.ended"));if(n.stopping)return o("work",t("state.stopping"));if(i)return o("asks",t("state.asks"),i.since);if(n.waits.length&&n.status!=="idle"){let i=[...new Set(n.waits.map(t=>m(e,t.on)))];return o("waits",t("state.waits",{name:s(i.join(", "),28)}),n.waits[0].since)}if(n.status==="executing_tools"&&n.calls.length){let e=n.calls[n.calls.length-1];return o("tool",s(`${e.name} ${e.subject}`,48),e.since)}return n.status!=="idle"?o("work",t("state.thinking")):n.error&&n.last_turn==="failed"?o("failed",t("state.error",{kind:n.error.kind})):n.last_turn==="capped"?o("failed",t("turn.capped")):n.unread.length?o("idle",t("state.unread",{n:n.unread.length})):o("idle",t("state.idle"))}let A=e=>e.status!=="ended"&&e.status!=="idle";function no(e){let t=[];for(let o of e.agents){let n=[o.id],s=o;for(;s&&A(s);){let t=e.questions.some(e=>e.agent_id===s.id)?"user":s.waits[0]?.on;if(!t||n.includes(t))break;n.push(t),s=e.agents.find(e=>e.id===t)}let i=n[n.length-1]==="user",a=t[t.length-1]==="user";(i===a?n.length>t.length:i)&&(t=n)}let n=e.agents.find(e=>e.id===t[t.length-1]);return t.length>1&&!(n&&A(n)&&!n.waits.length)?t:[]}let Us={running:"●",waiting:"▲",done:"✓",failed:"✗",interrupted:"◼","":"?"},_t=["read-only","plan","ask","workspace","full"];function M({board:t,id:o,length:i=28}){let a=m(t,o);return e("bdi",{class:"name",title:n(a)},s(a,i))}function H({board:t,id:n}){let o=Array.from(s(m(t,n),40))[0]||"?";return e("span",{class:`badge hue-${pt(t,n)}`,"aria-hidden":"true"},o.toUpperCase())}let ne=t=>[e(H,{...t}),e(M,{...t})],y=({is:t})=>e("span",{class:"mark","aria-hidden":"true"},t),Et=({added:t,removed:n})=>e("span",{class:"num changed"},e("span",{class:"ok"},"+",r(t))," ",e("span",{class:"error"},"−",r(n))),kt=({ts:t})=>e("time",{class:"num muted",datetime:n(t),title:Z(t)},B(t)),J=({word:n,mark:s,...o})=>e("button",{class:"icon","aria-label":t(n),...o},s),pe=({act:t})=>e(J,{word:"close",mark:"×",onClick:t}),he=()=>e("a",{class:"button ask",href:"#/inbox"},t("answer")),S=({words:t,children:n})=>e("div",{class:"empty"},e("p",null,t),n),j=({title:t,children:n,...s})=>e("details",{...s},e("summary",null,t),n),ie=({children:t,label:n})=>e("pre",{class:"output",tabindex:"0","aria-label":n},t),L=({rows:t,children:n})=>e("dl",{class:"facts"},t.filter(Boolean).map(([t,n,s],o)=>[e("dt",{key:o},t),e("dd",{...s},n)]),n),V=e=>t=>e(t.target.value),F=e=>t=>(t.preventDefault(),e(Object.fromEntries(new FormData(t.target)),t.target)),K=({label:t,children:n,hint:s})=>e("label",{class:"field"},e("span",{class:"label"},t),n,s&&e("span",{class:"hint"},s)),ge=({label:t,set:n,...s})=>e("label",{class:"check"},e("input",{type:"checkbox",onChange:e=>n(e.target.checked),...s})," ",t);function C({label:t,hidden:n,of:o,say:i=e=>s(e,48),none:a,set:r,...c}){let l=e("select",{title:n&&t,onChange:r&&V(r),...c},a&&e("option",{value:""},a),o.map(t=>e("option",{key:t,value:t},i(t))));return n?e("label",{class:"choice"},e("span",{class:"hidden"},t),l):e(K,{label:t},l)}function k(){let[t,e]=i(!1);return[t,async t=>{e(!0);try{return await t()}finally{e(!1)}}]}function ve({since:t,now:n}){let s=n-Date.parse(t);return Number.isFinite(s)?e("span",{class:"num",title:Z(t)},x(s)):null}function Vt({board:t,row:s,now:o}){let i=vt(t,s),a=["work","tool","waits","asks"].includes(i.kind);return e("span",{class:`state ${i.kind}`,title:n(i.word)},e(y,{is:i.mark})," ",e("span",{class:"word"},i.word),a&&[" ",e(ve,{since:i.since,now:o})])}let $t=({state:t})=>e("span",{class:`state s-${t||"unknown"}`},e(y,{is:Us[t]||"?"})," ",e("span",{class:"word"},u("session",t||"unknown")));function be(){let[n,s]=i(!1);return c(()=>{let e=setTimeout(()=>s(!0),200);return()=>clearTimeout(e)},[]),e("div",{class:"skeleton",role:"status"},e("span",{class:"hidden"},t("loading")),n&&[0,1,2,3].map(t=>e("div",{class:"bar",key:t})))}function T({problem:s,retry:o}){let i=s?.kind||"internal_error",a=i==="network"&&!s.message?t("error.away"):n(s?.message||String(s));return e("div",{class:"problem",role:"alert"},e(y,{is:"✗"}),e("div",null,e("p",null,e("strong",{class:"code"},n(i))," ",a),o&&e("button",{onClick:o},t("retry"))))}let $=({of:t,retry:n})=>e("div",{class:"pad"},t.status==="loading"?e(be,null):e(T,{problem:t.problem,retry:n}));function qt({text:n,lines:s=3,tail:o=!0,label:a}){let[c,d]=i(!1),r=n.replace(/\n+$/,"").split(`
`),l=r.length<=s+1&&n.length<2e3,u=(o?r.slice(-s):r.slice(0,s)).map(e=>e.length>400?`${e.slice(0,400)}…`:e);return e("div",null,e(ie,{label:a},(c||l?r:u).join(`
`)),!l&&e("button",{class:"link","aria-expanded":c,onClick:()=>d(!c)},c?t("fold"):t("showAll",{n:r.length})))}function Yt(e){let t=[...e.currentTarget.querySelectorAll("[data-stop]:not(:disabled)")],n=t.indexOf(e.target.closest("[data-stop]")),s={ArrowDown:n+1,ArrowUp:n-1,Home:0,End:t.length-1}[e.key];if(s===0[0])return;e.preventDefault();let o=t[Math.min(Math.max(s,0),t.length-1)];for(let e of t)e.tabIndex=e===o?0:-1;o?.focus()}let Os={sessions:"M2 4h12M2 8h12M2 12h8",inbox:"M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",settings:"M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4"},Xt=({size:t,path:n})=>e("svg",{width:t,height:t,viewBox:`0 0 ${t} ${t}`,"aria-hidden":"true"},e("path",{d:n})),Qt=e=>e?"page":0[0];function ys({state:o,act:i}){let{room:c,route:l,inbox:d}=o,a=c?.status==="ready"&&c.board;return e("header",{class:"topbar"},e("a",{class:"brand",href:"#/sessions","aria-label":t("nav.sessions")},e(Xt,{size:20,path:"M3 5h9M6 10h11M3 15h6"})),a&&e("div",{class:"where"},e("h1",{class:"clip",title:n(a.name)},e("bdi",null,s(a.name||c.id,32))),e($t,{state:a.state})),c?e("nav",{class:"tabs","aria-label":t("nav.session")},["team","conversation","changes"].map(n=>e("a",{key:n,href:`#/s/${c.id}/${n}`,"aria-current":Qt(l.tab===n)},t(`nav.${n}`)))):e("h1",{class:"clip"},t(`nav.${l.screen}`)),e("span",{class:"grow"}),a&&[e(C,{label:t("mode.label"),hidden:!0,of:[...new Set([a.mode,..._t])].filter(Boolean),say:e=>u("mode",e),value:a.mode,set:e=>i.changeMode(e)}),e(ps,{board:a})],(a.state==="running"||a.state==="waiting")&&e("button",{class:"stop",onClick:()=>i.interrupt("")},t("stop")),e("nav",{class:"global","aria-label":t("nav.label")},Object.entries(Os).map(([n,s])=>{let o=n==="inbox"&&d.items.length;return e("a",{key:n,class:o?"has-mail":"",href:`#/${n}`,"aria-current":Qt(l.screen===n)},e(Xt,{size:16,path:s}),e("span",{class:"label"},t(`nav.${n}`)),o>0&&e("span",{class:"pill num","aria-label":t("inbox.count",{n:o})},r(o)))})))}function ps({board:n}){let{limit_usd:s,spent_usd:o=0}=n.budget||{};if(!s)return e("span",{class:"budget num",title:t(n.unpriced?"cost.unknown":"cost.whole")},tt(n));let i=t("budget",{spent:p(o||0),limit:p(s)});return e("span",{class:`budget num${o>=.8*s?" near":""}`,title:i},e("progress",{max:"1",value:Math.min(1,o/s),"aria-label":i}),p(o||0)," ",e("span",{class:"muted"},"/ ",p(s)))}function ss({room:n,inbox:s,now:o}){if(n?.connection==="ended")return e("div",{class:"bar",role:"status"},t("conn.ended"));let i=[n,s].find(e=>e?.connection==="lost");return i?e("div",{class:"bar lost",role:"status"},t("conn.lost",{span:x(o-i.lostSince)})):null}let ns=({items:t,dismiss:s})=>e("div",{class:"toasts",role:"status","aria-live":"polite"},t.map(t=>e("div",{class:`toast ${t.kind}`,key:t.id},e("span",null,e("strong",{class:"code"},n(t.title))," ",n(t.words)),e(pe,{act:()=>s(t.id)})))),Jn={"?":"keys.help",t:"nav.team",c:"nav.conversation",d:"nav.changes",i:"nav.inbox",s:"nav.sessions","/":"keys.find",m:"keys.compose","Shift X":"keys.stop","← →":"keys.pan","+ −":"keys.zoom","↑ ↓":"keys.rows",Esc:"keys.close"};function Gn({close:n}){let s=h(null);return c(()=>s.current.showModal(),[]),e("dialog",{class:"help",ref:s,onClose:n,"aria-labelledby":"help-title"},e("header",{class:"row"},e("h2",{id:"help-title",class:"grow"},t("help")),e(pe,{act:()=>s.current.close()})),e(L,{rows:Object.entries(Jn).map(([n,s])=>[e("kbd",null,n),t(s)])}))}let on=12,ye=3e3,Yn=25e4;function xe(e){let t=[],n=0,s=0,o=0,i=0,a="";for(let r of e.replace(/\n$/,"").split(`
`)){let[c]=r,l=/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(r);if(l)[n,o,s,i]=l.slice(1).map(e=>Number(e??1)),t.push({kind:"hunk",text:r});else if(c==="\\"||c==="[")t.push({kind:"hunk",text:r});else if(o<=0&&i<=0)/^(---|\+\+\+) [^/]/.test(r)&&(a=r.slice(6)),r.startsWith("+++")&&t.push({kind:"file",text:a});else{let e={kind:c==="+"?"add":c==="-"?"del":"same",text:r.slice(1)};c!=="+"&&([e.old,n,o]=[n,n+1,o-1]),c!=="-"&&([e.new,s,i]=[s,s+1,i-1]),t.push(e)}}return t}function ln(e,t){let[n,s]=[e,t].map(e=>e===""?[]:e.replace(/\n$/,"").split(`
`)),r=(e,t)=>t.map(t=>({kind:e,text:t}));if(n.length*s.length>Yn)return[...r("del",n),...r("add",s)];let a=Array.from({length:n.length+1},()=>new Uint16Array(s.length+1));for(let e=n.length-1;e>=0;e-=1)for(let t=s.length-1;t>=0;t-=1)a[e][t]=n[e]===s[t]?a[e+1][t+1]+1:Math.max(a[e+1][t],a[e][t+1]);let c=[],o=0,i=0;for(;o<n.length&&i<s.length;)n[o]===s[i]?(c.push({kind:"same",text:n[o++]}),i+=1):a[o+1][i]>=a[o][i+1]?c.push({kind:"del",text:n[o++]}):c.push({kind:"add",text:s[i++]});return[...c,...r("del",n.slice(o)),...r("add",s.slice(i))]}let Un=e=>({added:e.filter(e=>e.kind==="add").length,removed:e.filter(e=>e.kind==="del").length}),un=e=>e.filter(e=>e.kind==="file").length,Ce={add:["+","diff.added"],del:["−","diff.removed"]};function te({rows:n,all:s=!1}){let[a,c]=i(s),l=un(n)>1,o=n.filter(e=>l||e.kind!=="file"),d=o.some(e=>e.old||e.new),r=t=>d&&e("td",{class:"ln","aria-hidden":"true"},t||"");return e("div",{class:"diff-box"},e("div",{class:"diff",tabindex:"0",role:"group","aria-label":t("diff")},e("table",null,e("tbody",null,o.slice(0,a?ye:on).map(({kind:n,...s},o)=>e("tr",{class:n,key:o},r(s.old),r(s.new),e("td",{class:"sign"},Ce[n]?.[0],Ce[n]&&e("span",{class:"hidden"},t(Ce[n][1])," ")),e("td",null,se(s.text))))))),o.length>on&&!a&&e("button",{class:"link",onClick:()=>c(!0)},t("showAll",{n:o.length})),a&&o.length>ye&&e("p",{class:"strong"},t("diff.hidden",{n:o.length-ye})))}let fn={agent:"agent",turn:"turn",call:"call_id"},E=e=>`${e.call_id}/${e.path}`,gn=e=>t("changes.files",{n:new Set(e.map(e=>e.path)).size}),vn=(e,n)=>e==="user"?t("you"):s(e,n);function Bn({room:o,act:a,params:{agent:r,call:d}}){let[_,N]=i({status:"loading",items:[]}),[p,D]=i(d?"call":"agent"),[R,B]=i(""),[C,T]=i(null),[b,g]=i(null),[j,I]=i(null),[F,z]=k(),w=`/sessions/${o.id}`,O=h(0),x=()=>{O.current+=1;let t=O.current,e=e=>{t===O.current&&N(e)};return v(`${w}/changes`).then(({items:t})=>e({status:"ready",items:t}),t=>e({status:"error",items:[],problem:t}))};c(()=>{x()},[o,o.board.counts.file_changes]);let{items:f}=_;if(_.status!=="ready")return e($,{of:_,retry:x});if(!f.length)return e(S,{words:t("changes.empty")},e("a",{class:"button",href:`#/s/${o.id}/conversation`},t("nav.conversation")));let m=f.filter(e=>!e.undone&&(C?C.has(E(e)):e.call_id===d||e.agent===r)),u=f.find(e=>E(e)===R)||m[m.length-1]||f[f.length-1],L=[...Map.groupBy(f,e=>e[fn[p]])],y=(e,{path:n})=>p==="agent"?vn(e,28):p==="turn"?t("changes.turn",{n:e}):`${s(n.split("/").pop(),20)} · ${s(e,10)}`,P=(e,t)=>{let n=new Set(m.map(E));for(let s of e)n[t?"add":"delete"](E(s));T(n),g(null)},M=(t,n,s)=>{let o=t.filter(e=>!e.undone),i=o.filter(e=>m.includes(e)).length;return e("input",{type:"checkbox","data-stop":!0,tabindex:s?0:-1,"aria-label":n,disabled:!o.length,checked:i>0&&i===o.length,indeterminate:i>0&&i<o.length,onChange:({target:e})=>P(o,e.checked)})},A=e=>()=>z(()=>a.attempt(e)),V=A(async()=>g(await l(`${w}/undo/plan`,{selection:{files:m.map(e=>({call:e.call_id,path:e.path}))}}))),W=A(async()=>{I(await l(`${w}/undo`,{plan_id:b.plan_id})),g(null),T(new Set),await x()}),U=o=>{let i=b?.conflicts.find(e=>e.path===o.path&&m.includes(o)),a=o.undone?t("changes.undone"):o.undoes.length?t("changes.undo"):"";return e("li",{class:`change${o===u?" on":""}`,key:E(o)},M([o],n(o.path)),e("button",{class:"grow","data-stop":!0,tabindex:"-1","aria-pressed":o===u,onClick:()=>{B(E(o)),g(null)}},e("span",{class:"code grow clip",title:n(o.path)},s(o.path,24)),a&&e("span",{class:"muted"},a),e(Et,{...o}),i&&e("span",{class:"warn",title:n(i.reason)},"⚠")))};return e("div",{class:"changes"},e("section",{class:"changes-list","aria-label":t("nav.changes")},e("div",{class:"segmented",role:"group","aria-label":t("by")},Object.keys(fn).map(n=>e("button",{key:n,"aria-pressed":p===n,onClick:()=>D(n)},t(`by.${n}`)))),e("div",{class:"row"},e("button",{disabled:F||!m.length,onClick:V},t("undo.look")),e("span",{class:"muted grow"},m.length?gn(m):t("undo.tick"))),e("div",{onKeyDown:Yt},L.map(([t,n],s)=>e("section",{key:t,"aria-label":y(t,n[0])},e("h2",{class:"change"},M(n,y(t,n[0]),s===0),p==="agent"&&e(H,{board:o.board,id:o.board.agents.find(e=>e.name===t)?.id||"user"}),e("bdi",{class:"grow"},y(t,n[0])),e("span",{class:"muted num"},gn(n))),e("ul",{class:"plain"},n.map(U)))))),e("section",{class:"changes-diff","aria-label":n(u.path)},j&&e("p",{class:"box ok",role:"status"},t("undo.done",{n:j.files.length})," ",e("a",{class:"code",href:`#/s/${o.id}/changes?call=${j.call_id}`},s(j.call_id,12))),b?e(Pn,{plan:b,busy:F,take:W,leave:()=>g(null)}):[e("header",{class:"row"},e("h2",{class:"code grow clip",title:n(u.path)},s(u.path,60)),e("span",{class:"muted"},vn(u.agent,24)," · ",t("changes.turn",{n:u.turn})," · ",e("span",{class:"code"},s(u.call_id,12)))),u.diff?e(te,{key:E(u),rows:xe(u.diff),all:!0}):e("p",{class:"muted"},t("changes.lost"))]))}function Pn({plan:s,busy:o,take:i,leave:a}){let r=xe(s.diff);return e("section",{class:"undo","aria-label":t("undo.plan")},e("div",{class:"row"},e("h3",{class:"grow"},t("undo.plan")),e("button",{onClick:a},t("cancel")),e("button",{class:"primary",disabled:o||!s.diff,onClick:i},t("undo.take",{n:un(r)||1}))),s.conflicts.length>0&&e("ul",{class:"plain warn"},s.conflicts.map(t=>e("li",{key:t.path},"⚠ ",e("span",{class:"code"},n(t.path))," ",n(t.reason)))),s.diff?e(te,{rows:r}):e("p",{class:"muted"},t("undo.none")),s.commands.length>0&&e(j,{title:t("undo.commands",{n:s.commands.length})},e("ul",{class:"plain"},s.commands.map((t,s)=>e("li",{class:"code",key:s},n(t))))))}let Rn=2e4,Ln=new Set(`and as assert async await break case catch class const continue def default defer del do elif else end enum except export extends
 False final finally fn for from func function go if impl import in interface is let lambda match mod mut new nil None nonlocal not null or package pass private
 protected public raise return self static struct super switch then this throw trait True true false try type typeof undefined use var void where while with yield`.split(/\s+/)),Nn=/^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|conf|ini|console|)$/i,Tn={"+":"add","-":"del","@":"num"},Mn=["com","str","num"];function Sn(e,t){if(e.length>Rn||/^(text|txt|plain|output|log)$/i.test(t))return[["",e]];if(/^(diff|patch)$/i.test(t))return e.split(/(?<=\n)/).map(e=>[Tn[e[0]]||"",e]);let o=Nn.test(t)?`#[^\\n]*`:`//[^\\n]*|/\\*[^]*?(?:\\*/|$)`,i=new RegExp(`(${o})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)|(\\b\\d[\\w.]*)|[A-Za-z_$][\\w$]*`,"g"),s=[],n=0;for(let t of e.matchAll(i)){let o=Mn[t.slice(1).findIndex(e=>e!==0[0])]||Ln.has(t[0])&&"kw";if(!o)continue;s.push(["",e.slice(n,t.index)],[o,t[0]]),n=t.index+t[0].length}return[...s,["",e.slice(n)]]}let Es=globalThis.requestIdleCallback||(e=>setTimeout(e,50));function Cs({code:s,language:o=""}){let[l,d]=i(null),a=h(null),r=n(s);return c(()=>{d(null);let e=new IntersectionObserver(t=>{if(!t.some(e=>e.isIntersecting))return;e.disconnect(),Es(()=>a.current&&d(Sn(r,o)))});return e.observe(a.current),()=>e.disconnect()},[r,o]),e("pre",{class:"code-block",ref:a,tabindex:"0","aria-label":o?t("code.of",{language:o}):t("code")},e("code",null,l?l.map(([t,n],s)=>t?e("span",{class:`hl-${t}`,key:s},n):n):r))}let An=1e4,Cn=5;function xn(e,t=0){let r=[],n=[],s="",i=t,a=t,o=()=>{n.length&&r.push({text:n.join(`
`),at:i}),n=[]};for(let r of e.slice(t).split(`
`)){n.length||(i=a),a+=r.length+1;let c=/^ {0,3}(`{3,}|~{3,})/.exec(r);s?(n.push(r),c&&c[1].startsWith(s)&&r.trim()===c[1]&&(s="",o())):c?(o(),i=a-r.length-1,s=c[1],n.push(r)):r.trim()?n.push(r):o()}return o(),r}function Fn(e){let t=e.trim();if(!/^(https?:\/\/|mailto:)/i.test(t)||n(t)!==t)return"";try{let{protocol:e}=new URL(t);return["http:","https:","mailto:"].includes(e)?t:""}catch{return""}}let On=(t,s)=>{let o=Fn(t);return o?e("a",{href:o,target:"_blank",rel:"noopener noreferrer nofollow",title:n(o)},s):e("span",null,s," ",e("span",{class:"muted"},"(",n(t),")"))},zn={"**":"strong",__:"strong","~~":"del","*":"em",_:"em"},Dn=/(`+)|(\*\*|__|~~|[*_])|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|https?:\/\/[^\s<>()[\]{}"'`*]{1,1000}|\\([\\`*_{}[\]()#+\-.!~|>])/g;function O(s,o=0){if(o>Cn||s.length>An)return[n(s)];let i=[],a=new RegExp(Dn.source,"g"),r=0,c=new Set,l=e=>{e>r&&i.push(n(s.slice(r,e)))};for(let h=a.exec(s);h;h=a.exec(s)){let[g,f,v,y,b,p,j]=h,u=h.index,m=u+g.length,d=null;if(f||v){let t=f||v,r=u+t.length,a=c.has(t)?-1:s.indexOf(t,r);a<0&&c.add(t);let i=a>r?s.slice(r,a):"",l=t[0]==="_"&&(/\w/.test(s[u-1]||"")||/\w/.test(s[a+t.length]||""));i&&f?d=e("code",null,n(i.trim()||i)):i&&!l&&!/^\s|\s$/.test(i)&&(d=e(zn[t],null,O(i,o+1))),d&&(m=a+t.length)}else if(j)d=j;else if(p)d=On(p,y?t("md.image",{alt:n(b)}):O(b||p,o+2));else{let e=g.replace(/[.,;:!?]+$/,"");d=On(e,n(e)),m=u+e.length}if(a.lastIndex=m,!d)continue;l(u),i.push(d),r=m}return l(s.length),i}let _n=/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;function yn(t){let n=[];for(let s of t){let e=_n.exec(s);e?n.push({depth:Math.min(4,Math.floor(e[1].replace(/\t/g,"  ").length/2)),ordered:/\d/.test(e[2]),number:parseInt(e[2],10),words:[e[3]]}):n.length&&n[n.length-1].words.push(s.trim())}let s=(t,o)=>{let a=[],i=t;for(;i<n.length&&n[i].depth>=o;){let t=n[i],[r,c]=i+1<n.length&&n[i+1].depth>t.depth?s(i+1,n[i+1].depth):[null,i+1],o=/^\[([ xX])\]\s+(.*)$/.exec(t.words[0]),l=(o?[`${o[1]===" "?"☐":"☑"} ${o[2]}`,...t.words.slice(1)]:t.words).join(`
`);a.push(e("li",null,O(l),r)),i=c}let r=n[t];return[r.ordered?e("ol",{start:r.number},a):e("ul",null,a),i]},o=[];for(let e=0;e<n.length;){let[t,i]=s(e,n[e].depth);o.push(t),e=i}return o}let jn=e=>e.trim().replace(/^\||\|$/g,"").split("|").slice(0,40).map(e=>e.trim());function Hn(n){let s=jn(n[0]);return e("div",{class:"table-box",tabindex:"0",role:"region","aria-label":t("md.table")},e("table",null,e("thead",null,e("tr",null,s.map(t=>e("th",{scope:"col"},O(t))))),e("tbody",null,n.slice(2,500).map(t=>e("tr",null,jn(t).map(t=>e("td",null,O(t))))))))}function ke(t,n=0){let s=t.split(`
`),i=/^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/.exec(s[0]);if(i){let t=s.length>1&&s[s.length-1].trim().startsWith(i[1]);return e(Cs,{code:s.slice(1,t?-1:0[0]).join(`
`),language:i[2]})}let a=/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(s[0]);if(a)return[e("p",null,e("strong",null,O(a[2]))),s.length>1&&ke(s.slice(1).join(`
`),n)];if(/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(s[0]))return e("hr",null);if(s[0].startsWith(">")&&n<Cn)return e("blockquote",null,ke(s.map(e=>e.replace(/^>\s?/,"")).join(`
`),n+1));if(s.length>1&&s[0].includes("|")&&/^[\s|:-]+$/.test(s[1])&&s[1].includes("-"))return Hn(s);let o=s.findIndex(e=>_n.test(e));return o===0?yn(s):o>0&&o<s.length?[e("p",null,O(s.slice(0,o).join(`
`))),yn(s.slice(o))]:e("p",null,O(t))}class bn extends Be{shouldComponentUpdate({text:e}){return e!==this.props.text}render({text:t}){return e("div",{class:"md"},ke(t))}}class Ae extends bn{render({text:t}){let{before:o,blocks:n}=this,s=n?.length&&t.startsWith(o)?n[n.length-1].at:0;return this.blocks=s?[...n.slice(0,-1),...xn(t,s)]:xn(t),this.before=t,e("div",{class:"md"},this.blocks.map((t,n)=>e(bn,{key:n,text:t.text})))}}let hn=100,W=80,dn=320,Kn=60,cn=64,Se={from:null,to:null},sn=e=>Object.hasOwn(pn,e)&&pn[e];function Xn({room:n,act:s,seq:o=null,agent:a="",words:r,facts:l}){let[d,m]=i(a),[f,v]=i(""),[b,p]=i(a);if(c(()=>{a&&(m(a),p(a))},[a]),n.status!=="ready")return e($,{of:n,retry:()=>s.reopen()});let{board:u}=n,h=u.agents.filter(e=>e.status!=="ended"),g=(t,n)=>e("button",{class:"chip",key:t,"aria-pressed":d===t,onClick:()=>m(d===t?"":t)},n);return e("div",{class:"conversation"},e("div",{class:"filters"},e("div",{class:"chips",role:"group","aria-label":t("conv.filter")},g("",t("conv.all")),u.agents.filter(e=>h.includes(e)||d===e.id).map(t=>g(t.id,e(ne,{board:u,id:t.id,length:18})))),e("input",{id:"find",type:"search",value:f,placeholder:t("conv.find"),"aria-label":t("conv.find"),onInput:V(v)})),e(nn,{room:n,board:u,facts:l,words:r,only:d,find:f,seq:o,act:s}),s&&e(Qn,{busy:h.some(A),agents:h,to:b,choose:p,send:(e,t)=>s.prompt(e,t)}))}function Qn({busy:n,agents:o,to:a,choose:r,send:c}){let[d,p]=i(""),[g,v]=k(),l=h(null),u=g||!d.trim(),m=n&&!a,f=async e=>{if(u)return;let t=await v(()=>c(d,{...a&&{agent:a},...m&&!e&&{steer:!0}}));t||(p(""),l.current&&(l.current.style.height="")),l.current?.focus()},b=e=>{if(e.key==="Escape"&&e.currentTarget.blur(),e.key!=="Enter"||e.shiftKey||e.isComposing)return;e.preventDefault(),f(e.ctrlKey||e.metaKey)},j=({target:e})=>{p(e.value),e.style.height="auto",e.style.height=`${Math.min(e.scrollHeight+2,200)}px`};return e("form",{class:"composer",onSubmit:F(()=>f(!1))},e("textarea",{id:"composer",ref:l,rows:"1",value:d,onInput:j,onKeyDown:b,"aria-label":t("say.label"),title:t("say.hint"),placeholder:t(n?"say.busy":"say.idle")}),e(C,{label:t("say.to"),hidden:!0,none:t("say.team"),of:o.map(e=>e.id),say:e=>s(o.find(t=>t.id===e).name,24),value:a,set:r}),m&&e("button",{type:"button",disabled:u,onClick:()=>f(!0)},t("say.queue")),e("button",{class:"primary",disabled:u},t(m?"say.steer":"say.send")))}function Zn(e,t,n,s){let{kind:o}=e;return o!=="turn"&&!(o==="end"&&e.status==="completed"&&(e.agent!==s||n||t))&&!(t&&e.agent!==t&&e.from!==t&&e.to!==t)&&(n?[e.text,e.name,e.subject,e.end?.output].join(`
`).toLowerCase().includes(n):!e.repeated&&!(o==="call"&&TEAM_TOOLS.has(e.name)&&e.end?.ok))}function nn({room:s,board:o,facts:a,words:r,only:l="",find:d="",seq:m=null,act:f,blocks:p=s.blocks}){let[v,w]=i({...Se}),_=d.trim().toLowerCase(),F=o.agents[0]?.id,g=U(()=>p.filter(e=>Zn(e,l,_,F)),[a,l,_,p]),j=h(null),x=h(!0),O=h(null),C=h(0),A=e=>({from:Math.max(0,Math.min(e,g.length)-hn-W),to:e>=g.length?null:e});if(C.current){let e=g.findIndex(e=>e.seq===C.current);C.current=0,Object.assign(v,A(e+1))}let y=v.to===null?g.length:Math.min(v.to,g.length),E=Math.max(0,v.from===null?y-hn:Math.min(v.from,y)),b=h(null),T=g.reduce((e,t)=>t.kind==="prompt"?t.seq:e,0);c(()=>{b.current===null&&(w({...Se}),x.current=!0)},[l,_,s,T]),c(()=>{if(m===null)return;b.current=m,x.current=!1,m<s.first&&s.loadOlder(m)},[m,s]),it(()=>{let{current:e}=j,t=t=>e.querySelector(`[data-seq="${t}"]`);if(b.current!==null&&b.current>=s.first){let n=g.findIndex(e=>e.seq>=b.current),s=t(g[n]?.seq);s?(b.current=null,e.scrollTop+=s.getBoundingClientRect().top-e.getBoundingClientRect().top-e.clientHeight/3,s.classList.add("found"),s.querySelector("a,button,[tabindex]")?.focus({preventScroll:!0})):n>=0?w({from:Math.max(0,n-W),to:n+W}):b.current=null;return}if(O.current){let n=t(O.current.seq);n&&(e.scrollTop+=n.getBoundingClientRect().top-O.current.top),O.current=null}else x.current&&v.to===null&&(e.scrollTop=e.scrollHeight)});let k=()=>{let t=j.current.getBoundingClientRect().top,e=[...j.current.querySelectorAll("[data-seq]")].find(e=>e.getBoundingClientRect().bottom>t);O.current=e?{seq:e.dataset.seq,top:e.getBoundingClientRect().top}:null},z=()=>{let{current:e}=j,t=e.scrollHeight-e.scrollTop-e.clientHeight;if(x.current=t<Kn&&v.to===null,e.scrollTop<200){if(E>0){k();let e=Math.max(0,E-W);w({from:e,to:y-e>dn?e+dn:v.to})}else if(s.first>1&&!s.older&&!s.offline){let e=g[y-1]?.seq;s.loadOlder().then(()=>{k(),C.current=e})}}else t<200&&v.to!==null&&(k(),w(A(y+W)))},M=v.to===null&&!_?[...s.live].filter(([e,t])=>(!l||l===e)&&(t.text||t.thinking||t.note)):[],D=()=>{x.current=!0,w({...Se}),j.current.scrollTop=j.current.scrollHeight};return e("div",{class:"thread-box"},e("div",{class:"thread",ref:j,onScroll:z,tabindex:"0",role:"log","aria-live":"off","aria-label":t("nav.conversation")},(s.older||E===0&&s.first<=1)&&e("p",{class:"muted center"},t(s.older?"conv.older":"conv.begin")),g.slice(E,y).map(t=>e(es,{key:t.seq,block:t,board:o,size:o.agents.length,act:f,room:s,live:t.kind==="call"&&!t.end&&s.live.get(t.agent)?.output.get(t.id)||""})),!M.length&&!g.some(e=>e.kind!=="note")&&e(S,{words:t(_||l?"conv.none":"conv.empty")},!f&&!s.offline&&!_&&!l&&e("a",{class:"button",href:`#/s/${s.id}/conversation`},t("nav.conversation"))),M.map(([t,s])=>e(ce,{key:t,board:o,id:t,kind:"said live"},s.note&&e("p",{class:"muted"},u("live",n(s.note))),s.thinking&&!s.text&&e("p",{class:"thinking"},n(s.thinking.slice(-400))),s.text&&e(Ae,{text:s.text})))),v.to!==null&&e("button",{class:"to-end",onClick:D},t("conv.toEnd")))}class es extends Be{shouldComponentUpdate(e){return["block","live","size","act"].some(t=>e[t]!==this.props[t])}render(t){let n={prompt:os,told:is,mail:rs,said:cs,call:ds,end:us,note:hs}[t.block.kind];return e(n,{...t})}}let oe=({block:t,kind:n,children:s})=>e("article",{class:`block ${n}${t.gone?" gone":""}`,"data-seq":t.seq},s),ce=({block:t={},board:n,id:s,kind:o,head:i,acts:a,children:r})=>e(oe,{block:t,kind:o},e(H,{board:n,id:s}),e("div",{class:"block-body"},e("header",{class:"block-head"},e(M,{board:n,id:s}),i,t.ts&&e(kt,{ts:t.ts}),a),r)),en=({block:t,mark:n="·",bad:s,children:o})=>e(oe,{block:t,kind:s?"note bad":"note"},e(y,{is:n}),e("span",null,o," ",e(kt,{ts:t.ts})));function os({block:s,board:o,act:a,room:r}){let[c,l]=i(!1),[d,m]=i(s.text),u=o.agents[0]?.id!==s.to,h=async e=>{await a.goOnFrom(s.seq,e)||l(!1)},f=a&&!s.gone&&e("span",{class:"block-acts"},e("button",{class:"link",onClick:()=>a.fork(r.id,s.seq)},t("fork")),!u&&e("button",{class:"link","aria-expanded":c,onClick:()=>l(!c)},t("conv.edit")));return e(ce,{block:s,board:o,id:"user",kind:"prompt",acts:f,head:u&&[e("span",{class:"muted","aria-hidden":"true"},"→"),e(M,{board:o,id:s.to})]},c?e("form",{class:"edit",onSubmit:F(()=>h(d))},e("textarea",{rows:"4","aria-label":t("conv.edit"),value:d,onInput:V(m)}),e("p",{class:"muted"},t("conv.forget")),e("div",{class:"row end"},e("button",{type:"button",onClick:()=>l(!1)},t("cancel")),e("button",{type:"button",onClick:()=>h("")},t("conv.rewind")),e("button",{class:"primary",disabled:!d.trim()},t("conv.goOn")))):e("div",{class:"prose pre"},n(s.text)),s.images>0&&e("p",{class:"muted"},t("conv.images",{n:s.images})))}let is=({block:n,board:o})=>e(en,{block:n},t("note.told",{name:s(m(o,n.to),30)})," ",s(n.text,400));function rs({block:t,board:n}){let o=e(Ae,{text:t.text});return e(ce,{block:t,board:n,id:t.from,kind:"mail",head:[e("span",{class:`mail-kind ${t.mail}`},u("mail",t.mail)," ",e("span",{"aria-hidden":"true"},"→")),e(ne,{board:n,id:t.to})]},t.text.length>600?e(j,{title:s(t.text,200)},o):o)}let cs=({block:s,board:o})=>e(ce,{block:s,board:o,id:s.agent,kind:"said"},s.thinking&&e(j,{title:t("conv.thinking")},e("div",{class:"thinking pre"},n(s.thinking))),s.text&&e(Ae,{text:s.text}));function ls({name:e,args:t}){if(sn(e)!=="diff")return null;let{old_string:n,new_string:s,content:o}=Object(t);return typeof o=="string"?ln("",o):typeof n=="string"&&typeof s=="string"?ln(n,s):null}function ds({block:o,board:i,act:a,live:r}){let{end:c,asked:l,name:p,subject:m}=o,d=U(()=>ls(o),[o.args]),[v,b,_]=c?c.ok?["ok","✓",t("step.completed")]:["error","✗",t("state.failed")]:["","●",t("call.runs")],f=se(c?c.output:r),h=sn(p),w=c?.ok&&(d||h==="message"||h==="whole"),O=[c?.ms>=100&&Te(c.ms),Boolean(c?.exit)&&t("call.exit",{code:c.exit}),c?.error,l?.decision&&`${u("decision",l.decision)}${l.scope?` (${u("scope",l.scope)})`:""}`].filter(Boolean),g=t("call.output");return e(oe,{block:o,kind:c&&!c.ok?"call bad":"call"},e("div",{class:"block-body"},e("header",{class:"call-head"},e("span",{class:`mark ${v}`},e("span",{"aria-hidden":"true"},b),e("span",{class:"hidden"},_)),e(M,{board:i,id:o.agent,length:18})," ",e("span",{class:"code strong"},s(p,40))," ",e("span",{class:"code",title:n(m)},s(m,cn)),d&&e(Et,{...Un(d)}),O.map(t=>e("span",{class:"muted num",key:t},n(t))),l&&!l.decision&&!c&&[e("span",{class:"state asks"},e(y,{is:"▲"})," ",t("state.asks")),a&&e(he,null)]),d&&e(j,{title:t("diff")},e(te,{rows:d})),Wn.includes(p)&&m.length>cn&&e(j,{title:t("call.command")},e(ie,null,n(o.args?.command))),f&&!w&&(c?.ok&&(h==="count"||h==="nothing")?e(j,{title:t("card.output")},e(qt,{text:f,lines:12,tail:!1,label:g})):e(qt,{text:f,label:g})),c?.notice&&e("p",{class:"muted"},n(c.notice))))}function us({block:n,board:o}){let{began:i,status:a}=n,r=a!=="completed",c=[r&&`✗ ${s(m(o,n.agent),24)}`,u("turn",a)];return i&&c.push(t("conv.steps",{n:i.steps}),t("tokens",{n:P(i.tokens)}),i.cost!==null&&p(i.cost),Te(Date.parse(n.ts)-Date.parse(i.ts))),e(oe,{block:n,kind:r?"turn-end bad":"turn-end"},e("span",{class:"num"},c.filter(Boolean).join(" · ")))}function hs({block:n,board:o}){let{data:i,type:c}=n,a=(e,t=300)=>typeof e=="string"?s(e,t):"",l=s(m(o,n.agent),30),d=e=>a(e?.id||e?.model),h=()=>t(`note.${c}`,Object.fromEntries([["name",l],...Object.entries(i).map(([e,t])=>[e,a(t)||t])])),f=({session_resumed:()=>t("note.resumed"),agent_started:()=>t("note.started",{name:a(i.agent?.name,30),model:d(i.agent?.model)}),agent_ended:()=>t("note.ended",{name:l,reason:a(i.reason)}),compacted:()=>t("note.compacted",{name:l,before:P(i.tokens_before||0),after:P(i.tokens_after||0)}),forked:()=>t("note.forked",{seq:r(i.at||0)}),rewound:()=>t("note.rewound",{seq:r(i.to||0)}),mode_changed:()=>t("note.mode",{mode:u("mode",a(i.mode))}),model_changed:()=>t("note.model",{name:l,model:d(i.model)}),renamed:()=>t("note.renamed",{name:a(i.name)}),error:()=>`${a(i.kind)}: ${a(i.message)}`,control:()=>t(i.action==="halt"?"note.halted":i.action==="destroy"?"note.destroyed":"note.interrupted",{name:s(m(o,i.target),30)}),permission_decision:()=>`${a(i.tool)}: ${u("decision",a(i.decision))}, ${a(i.reason)}`,checked:()=>t("note.checked",{status:a(i.status??String(i.ok??""))})}[c]||h)();return e(en,{block:n,bad:c==="error",mark:c==="error"?"✗":"·"},f)}function ms({state:{inbox:n,now:s,sessions:o},act:i}){c(()=>{i.loadSessions("")},[]);let a=({session_id:e})=>o.items.find(t=>t.id===e)?.name||e;return e("div",{class:"page inbox"},e("h2",{class:"hidden"},t("nav.inbox")),n.ready?!n.items.length&&e(S,{words:t("inbox.empty")},e("a",{class:"button",href:"#/sessions"},t("nav.sessions"))):n.connection==="lost"?e(S,{words:t("inbox.lost")}):e(be,null),n.items.map(t=>e(ks,{key:t.id,one:t,now:s,act:i,session:a(t)})))}function ks({one:o,now:a,act:r,session:c}){let[p,O]=k(),[u,w]=i(null),[l,v]=i(""),[f,b]=i(!1),_=(e,t)=>O(async()=>w(await r.answer(o,e,t))),m=Date.parse(o.deadline)-a,h=f&&o.wider,g=h?{rule:h}:{},d=(t,n,s,o)=>e("button",{class:"big",disabled:p,onClick:()=>_(n,s),...o},t);return e("article",{class:"question","aria-label":t("inbox.of",{agent:n(o.agent)})},e("header",null,e(y,{is:"▲"}),e("h3",{class:"grow"},t("inbox.asks",{agent:s(o.agent,60)})),e("a",{href:`#/s/${o.session_id}/team`},e("bdi",null,s(c,20))),e("span",{class:"muted"},e(ve,{since:o.asked,now:a}))),!o.text.startsWith(o.tool)&&e("p",{class:"strong code"},n(o.tool)),e(ie,{label:t("inbox.call")},n(o.text)),/^@@ /m.test(o.preview)?e(te,{rows:xe(se(o.preview).replace(/^[^]*?(?=^(?:---|@@) )/m,""))}):o.preview&&e(j,{title:t("inbox.shown")},e(ie,null,se(o.preview))),o.hidden_lines>0&&e("p",{class:"strong"},t("inbox.hidden",{n:o.hidden_lines})),e(L,{rows:[[t("inbox.adds"),n(o.adds)||t("inbox.none")],[t("inbox.why"),n(o.reason)],m>0&&[t("inbox.expires"),t("inbox.in",{span:x(m)}),{class:"num"}]]}),u&&e("p",{class:"error",role:"alert"},u.kind==="writer_conflict"?t("inbox.late"):n(u.message)),e("div",{class:"answers"},d(t("deny"),!1,l?{reason:l}:{}),d(t("allowOnce"),!0,{scope:"once"},{class:"big primary"})),e(j,{class:"more-answers",title:t("inbox.more")},o.rule?[e("p",null,t("inbox.rule")," ",e("code",null,n(h||o.rule))),o.wider&&e(ge,{checked:f,set:b,label:[t("inbox.wider")," ",e("code",null,n(o.wider))]}),e("div",{class:"answers"},d(t("allowSession"),!0,{scope:"session",...g}),d(t("allowAlways"),!0,{scope:"rule",...g})),o.place&&e("p",{class:"muted"},t("inbox.place",{place:n(o.place)}))]:e("p",{class:"muted"},t("inbox.noRule")),e(K,{label:t("inbox.reason")},e("textarea",{rows:"2",value:l,maxlength:"10000",onInput:V(v)})),d(t("denyReason"),!1,{reason:l},{disabled:p||!l.trim()})))}function Jt({state:o,act:a}){let{sessions:l,now:m,notices:p}=o,[r,g]=i(""),[u,b]=i(null),[d,j]=i(!1);c(()=>{let e=!1,t=setTimeout(async()=>{a.loadSessions(r);let t=r.trim().length<2?null:await v(`/search${Fe({q:r.trim(),limit:30})}`).then(({items:e})=>e,()=>[]);e||b(t)},r?200:0);return()=>{e=!0,clearTimeout(t)}},[r]);let{items:h}=l,f=l.status==="ready"&&!h.length;return e("div",{class:"page"},p.map((t,s)=>e("p",{class:"box",key:s},n(t))),e("div",{class:"row"},e("input",{id:"find",type:"search",class:"grow",value:r,placeholder:t("sessions.find"),"aria-label":t("sessions.find"),onInput:V(g)}),e("button",{class:"primary","aria-expanded":d,onClick:()=>j(!d)},t("sessions.new"))),(d||f&&!r)&&e(js,{state:o,act:a}),l.status!=="ready"&&e($,{of:l,retry:()=>a.loadSessions(r)}),f&&(r?e(S,{words:t("sessions.none")}):!d&&e("p",{class:"muted center"},t("sessions.empty"))),h.length>0&&e("ul",{class:"list","aria-label":t("nav.sessions")},gs(h).map(([t,n,s])=>e(vs,{key:t.id,one:t,depth:n,parent:s,now:m,act:a}))),l.next&&e("button",{onClick:()=>a.moreSessions(r)},t("more")),u&&e("section",{"aria-label":t("search.label")},e("h2",null,t("search.label")),u.length===0?e("p",{class:"muted"},t("search.none")):e("ul",{class:"list hits"},u.map(t=>e("li",{key:`${t.session_id}/${t.seq}`},e("a",{href:`#/s/${t.session_id}/conversation/${t.seq}`},e("span",{class:"small"},e("bdi",null,s(t.session_name,28))," · ",e("bdi",null,s(t.agent,20))," ",e("span",{class:"muted num"},at(t.ts,m))),e("span",null,s(t.excerpt,240))))))))}function gs(e){let t=new Map(e.map(e=>[e.id,e])),o=Map.groupBy(e,e=>e.parent),n=new Map,s=(e,i)=>{if(n.has(e.id))return;n.set(e.id,[e,i,t.get(e.parent)]);for(let t of o.get(e.id)||[])s(t,i+1)};for(let o of e){let n=o;for(let s=e.length;s>0&&t.has(n.parent);s-=1)n=t.get(n.parent);s(n,0)}return[...n.values()]}function vs({one:o,depth:a,parent:r,now:c,act:l}){let[d,u]=i(!1);return e("li",{class:`session-row fork-${Math.min(a,4)}`},e("a",{class:"session-main",href:`#/s/${o.id}/team`},e("span",{class:"row"},e("bdi",{class:"strong grow",title:n(o.name)},s(o.name,36))," ",e($t,{state:o.state})),e("span",{class:"clip"},s(o.first_prompt,160)||e("span",{class:"muted"},t("sessions.blank"))),e("span",{class:"session-facts muted"},o.parent&&e("span",null,"↳ ",t("sessions.fork",{name:s(r?.name||o.parent,28),seq:o.forked_at})),o.team&&e("span",null,s(o.team.split("/").pop(),24)),e("span",{class:"code"},s(o.model,28)),e("span",{class:"num"},o.cost_usd===null?t("cost.unknown"):p(o.cost_usd)),e("time",{class:"num",datetime:n(o.updated),title:Z(o.updated)},at(o.updated,c)),o.holder&&e("span",{title:t("sessions.where",{host:n(o.holder.host),pid:o.holder.pid})},t("sessions.held")))),e("button",{class:"icon","aria-expanded":d,"aria-label":t("sessions.acts",{name:n(o.name)}),onClick:()=>u(!d)},"⋯"),d&&e(bs,{one:o,act:l,done:()=>u(!1)}))}function bs({one:n,act:s,done:o}){let[r,c]=i(!1),a=e=>async t=>{await e(t),o()};return e("div",{class:"row-acts"},e("form",{class:"row",onSubmit:F(a(({name:e})=>s.rename(n.id,e)))},e("input",{name:"name",class:"grow","aria-label":t("sessions.rename"),defaultValue:n.name,maxlength:"100"}),e("button",null,t("sessions.rename"))),e("div",{class:"row"},e("button",{onClick:()=>s.fork(n.id)},t("fork")),n.parent&&e("a",{class:"button",href:`#/s/${n.parent}/conversation/${n.forked_at}`},t("sessions.origin")),["md","html","ndjson"].map(s=>e("a",{class:"button",key:s,download:!0,href:`${X}/sessions/${n.id}/export?format=${s}`},t("export",{format:s}))),r?e("button",{class:"danger",onClick:a(()=>s.deleteSession(n.id))},t("sessions.sure")):e("button",{onClick:()=>c(!0)},t("sessions.delete"))))}function js({state:{models:n,teams:o},act:a}){let[l,h]=k(),[d,m]=i(null);c(()=>a.loadPlace(),[]);let f=e=>h(async()=>m(await a.start(e)));if(n.status==="ready"&&!n.items.some(e=>e.has_key||e.source!=="catalog"))return e(S,{words:t("start.none")},e("a",{class:"button primary",href:"#/settings"},t("setup.first")));let r=(n,s,o,i)=>e(C,{name:n,label:s,none:t("start.default"),of:o,say:i});return e("form",{class:"start",onSubmit:F(f),"aria-label":t("sessions.new")},e(K,{label:t("start.prompt")},e("textarea",{name:"prompt",rows:"3",required:!0,placeholder:t("start.example")})),e("div",{class:"options"},r("team",t("nav.team"),o.items.filter(e=>!e.problem).map(e=>e.alias),e=>s(o.items.find(t=>t.alias===e).name||e,40)),r("model",t("setup.model"),n.items.map(e=>e.id)),r("mode",t("mode.label"),_t,e=>u("mode",e)),e(K,{label:t("start.budget")},e("input",{name:"max_budget_usd",type:"number",min:"0.01",step:"0.01",inputmode:"decimal",placeholder:t("start.free")}))),d&&e(T,{problem:d}),e("div",{class:"row end"},e("button",{class:"primary",disabled:l},t(l?"start.busy":"start.go"))))}let Zt={anthropic:"Anthropic",openai:"OpenAI",google:"Google"},_s={ok:"✓",warning:"▲",error:"✗"};function ws({state:s,act:o}){let{models:i,teams:r,me:a}=s;return c(()=>o.loadPlace(),[]),e("div",{class:"page settings"},e(xs,{models:i,act:o}),e(En,{state:s,act:o}),e(It,{title:t("models.title"),empty:t("models.empty"),of:i,Row:Ss,act:o}),e(It,{title:t("teams.title"),empty:t("teams.empty"),of:r,Row:Ms,act:o}),e(Fs,null),e(Ts,null),e("section",null,e("h2",null,t("set.server")),e(L,{rows:[[t("set.version"),n(a.version),{class:"num"}],[t("set.workspace"),n(a.workspace),{class:"code"}]]}),e("button",{onClick:()=>o.leave()},t("set.leave"))))}function De(e,t,n){let[s,o]=i(null);return c(()=>{v(e).then(e=>o(t(e)),()=>{})},[n]),s}function xs({models:n,act:o}){let[_,f]=i(!1),h=n.status==="ready"&&!n.items.some(e=>e.current||e.has_key||e.source!=="catalog"),[d,g]=i("anthropic"),[r,u]=i(null),[m,v]=k(),b=De("/models?all=true",({items:e})=>e)||[],j=De("/config",e=>e.default_model,r),a=d==="other",y=({name:e,model:t,key:n,base_url:s},i)=>v(async()=>{u(null);let c={provider:a?e:d,...t&&{model:t},...n&&{key:n},...a&&{base_url:s}},r=await o.attempt(async()=>{let e=await l("/setup",c);u(e),e.ok&&(i.reset(),f(!1),o.loadPlace())});r&&u({ok:!1,error:r})}),p=r?.ok&&e("p",{class:"box ok",role:"status"},t("setup.done"));if(!h&&!_)return e("section",null,e("h2",null,t("setup.title")),p,e("p",null,t("setup.have")," ",e("span",{class:"code strong"},s(j||n.items.find(e=>e.current)?.id,60))),e("button",{onClick:()=>f(!0)},t("setup.change")));let c=(t,n,s,o)=>e(K,{label:n,hint:o},e("input",{name:t,autocomplete:"off",...s}));return e("section",{class:"setup"},e("h2",null,t(h?"setup.first":"setup.title")),e("p",{class:"muted"},t("setup.words")),e("form",{class:"start",onSubmit:F(y)},e(C,{label:t("setup.provider"),of:[...Object.keys(Zt),"other"],say:e=>Zt[e]||t("setup.other"),value:d,set:g}),a&&[c("name",t("setup.name"),{required:!0,pattern:"[A-Za-z0-9_\\-]{1,64}"}),c("base_url",t("setup.address"),{type:"url",required:!0},t("setup.where"))],c("key",t("setup.key"),{type:"password",required:!a},t("setup.kept")),c("model",t("setup.model"),{list:"setup-models",required:a,placeholder:a?"":t("setup.default")}),e("datalist",{id:"setup-models"},b.filter(e=>e.provider===d).map(t=>e("option",{key:t.id,value:t.model}))),p,r&&!r.ok&&e(T,{problem:r.error}),e("div",{class:"row end"},e("button",{class:"primary",disabled:m},t(m?"models.busy":"setup.go")))))}let En=({state:n,act:s})=>e("section",null,e("h2",null,t("look.title")),e("div",{class:"options"},e(C,{label:t("look.theme"),of:["auto","light","dark"],say:e=>t(`look.${e}`),value:n.theme,set:e=>s.setLook({theme:e})}),e(C,{label:t("look.words"),of:Ue,say:e=>t(`language.${e}`),value:n.language,set:e=>s.setLook({language:e})})),e(ge,{label:t("look.notify"),checked:s.notifies,set:e=>s.setNotify(e)}),e(ge,{label:t("look.keys"),checked:n.keys==="on",set:e=>s.setLook({keys:e?"on":"off"})}));function Wt(e){let[o,n]=i(null),[s,a]=k();return[s?null:o,s,()=>a(()=>e().then(n,e=>n({ok:!1,error:e,problems:[e.message||t("error.away")]})))]}function $e({children:n,problem:o,ask:i,word:a,good:r}){let[c,l,d]=Wt(i),u=[o,...c&&!c.ok?c.problems||[`${c.error.kind} ${c.error.message}`]:[]].filter(Boolean);return e("li",{class:"place-row"},e("span",{class:"grow"},n,u.map((t,n)=>e("span",{class:"error small",role:"alert",key:n},"✗ ",s(t,240))),c?.ok&&e("span",{class:"ok small",role:"status"},"✓ ",r(c))),e("button",{disabled:l,onClick:d},t(l?"models.busy":a)))}let It=({title:t,empty:n,of:s,act:o,Row:i})=>e("section",null,e("h2",null,t),s.status!=="ready"?e($,{of:s,retry:()=>o.loadPlace()}):s.items.length?e("ul",{class:"list"},s.items.map(t=>e(i,{key:t.id||t.path,one:t}))):e("p",{class:"muted"},n)),Ss=({one:o})=>e($e,{ask:()=>l("/models/test",{model:o.id}),word:"models.test",good:e=>t("models.works",{time:Te(e.duration_ms)})},e("span",{class:"code strong",title:n(o.id)},s(o.id,44)),o.current&&[" ",e("span",{class:"tag"},t("models.used"))],e("span",{class:"muted small"},t("models.window",{n:P(o.context_window)}),o.input_usd!==null&&` · ${t("models.price",{input:p(o.input_usd),output:p(o.output_usd??0)})}`)),Ms=({one:n})=>e($e,{ask:()=>l(`/teams/${encodeURIComponent(n.alias)}/check`),word:"teams.check",good:()=>t("teams.ok"),problem:n.problem},e("span",{class:"strong"},s(n.name||n.alias,44))," ",e("span",{class:"muted"},s(n.description,120)),e("span",{class:"muted small"},s(n.members.join(", "),120)));function Fs(){let[s,i,o]=Wt(()=>v("/doctor"));return e("section",null,e("h2",null,t("doctor.title")),s?.error&&e(T,{problem:s.error,retry:o}),s?.checks&&e("ul",{class:"list"},s.checks.map(t=>e("li",{key:t.name,class:`place-row is-${t.state}`},e(y,{is:_s[t.state]||"·"}),e("span",{class:"hidden"},u("check",t.state)),e("span",null,e("span",{class:"strong"},n(t.name))," ",n(t.detail),t.advice&&e("span",{class:"muted small"},n(t.advice)))))),i?e(be,null):e("button",{onClick:o},t("doctor.run")))}function Ts(){let s=De("/config/origins",({items:e})=>e);return s&&e("section",null,e("h2",null,t("config.title")),e(j,{title:t("config.show",{n:s.length})},e(L,{rows:s.map(({key:t,value:s,source:o})=>[e("span",{class:"code"},n(t)),[e("span",{class:"code pre"},n(typeof s=="string"?s:JSON.stringify(s)))," ",e("span",{class:"muted"},n(o))]])})))}let zt=150,Le=2e4,Re=24,Ls=new Set(["assistant_message","tool_start","tool_end","turn_end","wait","permission_request","file_changed","usage"]);class Rs{constructor(){Object.assign(this,{bars:[],open:null,calls:new Map,overs:[],marks:[],at:0})}begin(e,t,n=""){this.finish(t),this.open={kind:e,from:t,to:t,word:n}}finish(e){if(!this.open)return;this.open.to=e,e>this.open.from&&this.bars.push(this.open),this.open=null}cover(e,t,{call_id:n,deadline:s},o){this.overs.push({kind:e,from:t,to:t,call:n,word:String(o),until:Date.parse(s)||0})}uncover(e,t){this.bars.push(...this.overs.filter(e).map(e=>({...e,to:t}))),this.overs=this.overs.filter(t=>!e(t))}close(e){this.uncover(()=>!0,e),this.finish(e),this.calls.clear()}}function Ps(e){let n=new Map,o=[],s=e.length?Date.parse(e[0].ts):0,t=s,a=e.length>0&&e[0].seq>1,i=e=>(n.has(e)||n.set(e,new Rs),n.get(e));for(let d of e){t=Math.max(t,Date.parse(d.ts)||t);let{agent_id:u,type:c,data:r}=d;if(c==="message"&&(r.from!=="user"||!r.origin||r.origin==="user")&&(o.push({seq:d.seq,at:t,from:String(r.from),to:String(r.to),kind:String(r.kind)}),r.from!=="user"&&i(String(r.from))),c==="session_resumed")for(let e of n.values())e.close(e.at||t);if(!u)continue;let l=i(u);a&&!l.at&&Ls.has(c)&&l.begin("work",s),Object.hasOwn(St,c)&&St[c](l,t,r),l.at=t}return{lanes:n,arrows:o,start:s,end:t}}let St={turn_start(e,t){e.close(t),e.begin("work",t)},turn_end(e,t,{status:n}){e.close(t),n!=="completed"&&e.marks.push(t)},agent_ended(e,t){e.close(t)},tool_start(e,t,{id:n,name:s}){e.calls.set(n,s),e.open?.kind!=="tool"&&e.begin("tool",t,String(s))},tool_end(e,t,{id:n,ok:s}){e.uncover(e=>e.call===n,t),e.calls.delete(n),s||e.marks.push(t),e.calls.size?e.open&&(e.open.word=String([...e.calls.values()].pop())):e.begin("work",t)},wait(e,t,n){e.cover("waits",t,n,n.on)},permission_request(e,t,n){e.cover("asks",t,n,n.tool)},permission_decision(e,t,{call_id:n}){e.uncover(e=>e.kind==="asks"&&e.call===n,t)}};function Is(e,t,n){let s=[t];for(let o of e){let t=Date.parse(o.ts);t>s[s.length-1]&&t<n&&s.push(t)}n>s[s.length-1]&&s.push(n);let o=[0];for(let e=1;e<s.length;e+=1){let t=s[e]-s[e-1];o.push(o[e-1]+(t<=Le?t:Le*(1+Math.log2(t/Le)/2)))}let i=o[o.length-1]||1,r=(e,t)=>{let n=0,s=e.length-1;for(;n<s-1;){let o=n+s>>1;e[o]<=t?n=o:s=o}return n},a=(e,t,n)=>{if(e.length<2)return 0;let o=Math.min(Math.max(n,e[0]),e[e.length-1]),s=r(e,o),i=(o-e[s])/(e[s+1]-e[s]||1);return t[s]+i*(t[s+1]-t[s])};return{place:e=>a(s,o,e)/i,moment:e=>a(o,s,e*i)}}function Bs(e,t){let n=e.filter(e=>Date.parse(e.ts)<t&&e.agent_id);if(!n.length)return null;let i=n[0].seq,a=n[n.length-1].seq+1,s=new Map,o=1;for(let e of n){let t=Math.floor((e.seq-i)/(a-i)*Re);s.has(e.agent_id)||s.set(e.agent_id,new Array(Re).fill(0));let r=s.get(e.agent_id);r[t]+=1,o=Math.max(o,r[t])}return{rows:s,most:o,buckets:Re}}let f=24,Q=72,Pe=14,yt={from:0,to:1},Ks=["work","tool","waits","asks"],qs=[1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,14400,43200,86400].map(e=>e*1e3);function Ys(e){if(e.agents.length<=8)return e.agents;let t=t=>e.questions.some(e=>e.agent_id===t.id)?0:A(t)?1:t.status==="ended"?3:2;return e.agents.map((e,n)=>[t(e),n,e]).sort((e,t)=>e[0]-t[0]||e[1]-t[1]).map(e=>e[2])}function Gs({board:n,events:s,tick:o,now:a,until:r,selected:l,select:d}){let[j,w]=i(720),u=Ys(n),g=u.length>10&&innerWidth>900,b=g?32:44,m=h(null),[p,y]=i(yt),[O,_]=i("");it(()=>{let e=()=>m.current&&w(Math.max(160,m.current.clientWidth));e();let t=new ResizeObserver(e);return t.observe(m.current),()=>t.disconnect()},[]);let x=u.map(e=>e.id).join(),v=U(()=>Qs({board:n,events:s,rows:u,height:b,width:j,view:p,until:r,selected:l}),[o,x,j,p,r,b,l]);c(()=>y(yt),[n.id]);let C=e=>{let{from:a,to:s}=p,t=s-a,n={ArrowLeft:[-t/4,-t/4],ArrowRight:[t/4,t/4],"+":[t/4,0],"=":[t/4,0],"-":[-t/2,0],0:[-1,1]}[e.key];if(!n||e.ctrlKey||e.metaKey)return;e.preventDefault();let o=Math.min(1,Math.max(.02,t+n[1]-n[0])),i=Math.min(1,Math.max(o,s+n[1]));y({from:Math.max(0,i-o),to:i})},E=e=>{let{left:t,top:n}=e.currentTarget.getBoundingClientRect();_(v.tell(e.clientX-t,e.clientY-n-f))};return e("div",{class:`lanes${g?" dense":""}`},e("div",{class:"lanes-scroll"},e("div",{class:"lanes-names",role:"group","aria-label":t("team.agents"),onKeyDown:Yt},e("div",{class:"axis","aria-hidden":"true"}),u.map((t,s)=>e("button",{key:t.id,"data-stop":!0,class:`lane-name${l===t.id?" on":""}${t.status==="ended"?" over":""}`,"aria-pressed":l===t.id,tabindex:l===t.id||!l&&s===0?0:-1,onClick:()=>d(t.id)},e(H,{board:n,id:t.id}),e("span",{class:"lane-words"},e(M,{board:n,id:t.id,length:g?15:19}),e(Vt,{board:n,row:t,now:a}))))),e("div",{class:"lanes-box",ref:m,tabindex:"0",role:"group","aria-label":t("lanes.label"),onKeyDown:C,onPointerMove:E,onPointerLeave:()=>_("")},v.svg)),e("div",{class:"lanes-foot muted"},e("span",{class:"clip","aria-hidden":"true"},O||t("lanes.hint")),e("span",{class:"legend","aria-hidden":"true"},Ks.map(n=>[e("span",{class:`key ${n}`,key:n}),t(`lanes.${n}`)," "]),["ask","task","response"].map(n=>[e("svg",{class:`arrow ${n}`,width:"24",height:"8",key:n},e("path",{d:"M0 4H23"})),t(`mail.${n}`)," "]))),e(Xs,{board:n,rows:u,now:a,arrows:v.arrows}))}function Xs({board:s,rows:o,now:i,arrows:a}){let r=(t,s,o)=>e("table",null,e("caption",null,t),e("thead",null,e("tr",null,s.map(t=>e("th",{scope:"col",key:t},t)))),e("tbody",null,o.map((t,s)=>e("tr",{key:s},t.map(t=>e("td",null,n(t)))))));return e("div",{class:"hidden"},r(t("lanes.table"),[t("by.agent"),t("state"),t("since")],o.map(e=>{let t=vt(s,e);return[e.name,t.word,x(i-Date.parse(t.since))]})),r(t("lanes.mail"),[t("time"),t("from"),t("to"),t("kind")],a.slice(-20).map(e=>[B(e.at),m(s,e.from),m(s,e.to),e.kind])))}function Qs({board:n,events:o,rows:i,height:a,width:r,view:c,until:l,selected:d}){let{lanes:F,arrows:M,start:S,end:T}=Ps(o),w=M.slice(-zt),g=M.length>zt?w[0].at:S,v=g>S||o[0]?.seq>1?Bs(o,g):null,h=v?Q:0,O=Math.max(l||0,T,g+1),C=Is(o,g,O),E=r-h-Pe*2,p=e=>h+Pe+(C.place(e)-c.from)/(c.to-c.from)*E,y=new Map(i.map((e,t)=>[e.id,t*a])),b=e=>y.get(e)+a/2,_=e=>Math.min(Math.max(e,h),r),k=[],A=[],u=a>=40?18:14;i.forEach(t=>{let s=F.get(t.id);if(!s)return;let a=[s.open,...s.overs].filter(Boolean).map(e=>({...e,to:O,open:!0})),o={work:"",tool:"",waits:"",asks:"",deadline:"",cross:""};for(let e of[...s.bars,...a]){if(e.to<g)continue;let n=_(p(Math.max(e.from,g))),c=_(p(e.to));if(c<=h||n>=r)continue;let i=Math.max(c-n,1.5),l=f+b(t.id)-u/2;o[e.kind]+=`M${n.toFixed(1)} ${l}h${i.toFixed(1)}v${u}h-${i.toFixed(1)}z`,e.until&&e.open&&e.until<=O&&(o.deadline+=`M${_(p(e.until)).toFixed(1)} ${l-3}v${u+6}`),A.push({left:n,right:n+i,row:t,bar:e})}let i=-9;for(let n of s.marks){let e=p(n);if(n<g||e<=h||e<i)continue;o.cross+=`M${(e-3).toFixed(1)} ${f+b(t.id)-3}l6 6m0-6l-6 6`,i=e+7}k.push(e("g",{class:`lane hue-${pt(n,t.id)}`,key:t.id},Object.entries(o).map(([t,n])=>n&&[(t==="waits"||t==="asks")&&e("path",{class:"paper",d:n}),e("path",{class:t,d:n,fill:t==="waits"?"url(#hatch)":0[0]})]),v?.rows.get(t.id)?.map((n,s)=>n&&e("rect",{class:"density",key:s,x:s*(Q-8)/v.buckets,width:(Q-8)/v.buckets-.5,y:f+b(t.id)+u/2-Math.max(2,n/v.most*u),height:Math.max(2,n/v.most*u)}))))});let z=w.filter(e=>p(e.at)>=h&&p(e.at)<=r).map(t=>{let s=t.from==="user";if(!y.has(t.to)||!s&&!y.has(t.from))return null;let r=p(t.at),o=f+b(t.to),i=s?o-a/2-2:f+b(t.from),n=o>i?1:-1,c=o-n*(u/2),l=s?i:i+n*(u/2);return e("g",{class:`arrow ${s?"prompt":t.kind}${d&&d!==t.from&&d!==t.to?" dim":""}`,key:t.seq},e("path",{d:`M${r.toFixed(1)} ${l}V${c-n*5}`}),e("path",{class:"head",d:`M${(r-3.5).toFixed(1)} ${c-n*6}h7l-3.5 ${n*6}z`}))}),D=Zs(C,c,p,h,r),j=f+i.length*a,N=e("svg",{class:"lanes-svg",width:r,height:j,viewBox:`0 0 ${r} ${j}`,"aria-hidden":"true"},e("defs",null,e("pattern",{id:"hatch",width:"6",height:"6",patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},e("path",{class:"hatch",d:"M0 0V6"}))),i.map((t,n)=>e("path",{class:"rule",key:t.id,d:`M0 ${f+n*a+.5}H${r}`})),D.map(t=>e("g",{key:t.at},e("path",{class:"tick",d:`M${t.x.toFixed(1)} ${f-4}V${j}`}),e("text",{x:t.x+4,y:"15"},t.word))),v&&[e("path",{class:"past",d:`M${Q-4}.5 ${f}V${j}`}),e("text",{x:"2",y:"15"},t("lanes.older"))],k,z),L=(e,o)=>{let r=i[Math.floor(o/a)];if(!r||o<0)return"";let d=A.filter(t=>t.row===r&&e>=t.left-2&&e<=t.right+2),u=d[d.length-1],f=Z(new Date(C.moment(c.from+(e-h-Pe)/E*(c.to-c.from))).toISOString());if(!u)return`${s(r.name,40)} · ${f}`;let{kind:l,word:p,from:g,to:v}=u.bar,b=l==="waits"?t("state.waits",{name:s(m(n,p),40)}):l==="work"?t("state.thinking"):`${l==="asks"?`${t("state.asks")} `:""}${s(p,40)}`;return`${s(r.name,40)} · ${b} · ${x(v-g)} · ${f}`};return{svg:N,arrows:w,tell:L}}function Zs(e,t,n,s,o){let i=e.moment(t.from),a=e.moment(t.to),r=qs.find(e=>(a-i)/e<=8),c=[];if(!(a>i)||!r)return c;for(let e=Math.ceil(i/r)*r,d=s-1;e<=a;e+=r){let t=n(e);if(t<=d||t>o-60)continue;let l=new Date(e);c.push({at:e,x:t,word:a-i<3e5?`${B(l)}:${String(l.getSeconds()).padStart(2,"0")}`:B(l)}),d=t+84}return c}function Js({room:n,now:s,act:o,models:a,base:r,tick:c,words:l,facts:d}){let[m,p]=i(""),{replay:h}=n,y=U(()=>h?wt(h.events):n.blocks,[h,n.blocks]),_=U(()=>h?{...n,live:new Map,first:0,offline:!0}:n,[h,n]);if(n.status!=="ready")return e($,{of:n,retry:()=>o.reopen()});let{board:u,events:w}=h||n,g=!h&&!n.offline&&u.agents.some(A),v=g?s:Date.parse(u.updated)||0,f=u.agents.find(e=>e.id===m),b=u.agents[0]?.plan||[],j=e(ro,{head:n.board.seq,at:u.seq,ts:u.updated,live:!h,show:e=>n.show(e)});return u.agents.length?e("div",{class:"team"},e("section",{class:"team-main","aria-label":t("team.label")},e(eo,{board:u,act:o}),h&&e("p",{class:"box",role:"status"},t("replay.shown",{seq:u.seq})),e(Gs,{board:u,events:w,tick:c,now:v,until:g?Math.floor(s/5e3)*5e3:0,selected:m,select:e=>p(e===m?"":e)}),e("div",{class:"team-strip"},b.length>0&&e("section",{class:"strip-plan","aria-label":t("plan")},e("h2",null,t("plan")),e(ft,{steps:b})),e(to,{board:u,base:r})),e(nn,{room:_,board:u,facts:d,words:l,only:m,act:null,blocks:y}),j),f&&e(so,{key:f.id,board:u,row:f,now:v,act:h?null:o,models:a,base:r,close:()=>p("")})):e("section",{class:"team-main","aria-label":t("team.label")},e(S,{words:t("team.empty")}),j)}function eo({board:s,act:o}){let i=no(s);if(!i.length)return null;let a=i[i.length-1]==="user",r=a&&s.questions.find(e=>e.agent_id===i[i.length-2]);return e("div",{class:`why${a?" asks":""}`,role:"status"},e("span",{class:"strong"},t("why")),e("span",{class:"why-chain"},i.map((n,o)=>e("span",{class:"row",key:o},o>0&&[e("span",{class:"muted","aria-hidden":"true"},"→"),e("span",{class:"hidden"},t("why.on"))],n!=="user"&&e(H,{board:s,id:n}),e(M,{board:s,id:n,length:20}))),r&&e("span",{class:"code muted clip"},n(r.tool))),a&&o&&e(he,null))}function to({board:{counts:n,files:s},base:o}){let i=[["mail",n.messages],["calls",n.calls],["failed",n.failed_calls],["files",s.length],["errors",n.errors],["denials",n.denials]];return e("ul",{class:"counts"},i.filter(([e,t])=>t||["mail","calls","files"].includes(e)).map(([n,s])=>e("li",{key:n,class:n==="errors"||n==="failed"?"error":""},e("a",{href:o&&`${o}/${n==="files"?"changes":"conversation"}`},e("span",{class:"num strong"},r(s))," ",t(`count.${n}`,{n:s})))))}let jt={input_tokens:"card.fresh",cache_read_tokens:"card.read",cache_write_tokens:"card.written",output_tokens:"card.output"};function so({board:o,row:i,now:a,act:c,models:l=[],close:d,base:u}){let[m,f]=k(),{usage:h}=i,p=i.window?Math.round(i.context/i.window*100):0,g=o.questions.find(e=>e.agent_id===i.id),v=i.status==="ended",b=e=>[P(e),{class:"num",title:r(e)}],j=Object.keys(jt).filter(e=>h[e]),_=[[t("card.role"),s(i.type,24),{title:n(i.type)}],[t("setup.model"),s(i.model,22),{title:n(i.model),class:"code"}],[t("by.turn"),i.turn?`${r(i.turn)} · ${t("conv.steps",{n:i.steps})}`:t("card.noTurn"),{class:"num"}],[t("card.window"),[e("progress",{max:"100",value:Math.min(100,p),"aria-label":t("card.window")})," ",r(p)," %"],{class:"num",title:t("card.used",{used:i.context,all:i.window})}],[t("card.tokens"),...b(j.reduce((e,t)=>e+h[t],0))],...j.map(n=>[e("span",{class:"part"},t(jt[n])),...b(h[n])]),[t("card.cost"),tt(i),{class:"num"}],i.unread.length>0&&[t("card.unread"),r(i.unread.length),{class:"num"}]],y=(t,n)=>n.length>0&&[e("h3",null,t),e("ul",{class:"plain"},n)];return e("aside",{class:"card","aria-label":n(i.name)},e("header",{class:"row"},e("h2",{class:"grow row"},e(ne,{board:o,id:i.id,length:19})),e(pe,{act:d})),e("p",null,e(Vt,{board:o,row:i,now:a})),g&&e("p",{class:"box asks"},e("span",{class:"code clip"},s(g.text,160)),c&&e(he,null)),i.error&&e("p",{class:"box error"},e("strong",{class:"code"},n(i.error.kind))," ",s(i.error.message,240)),v&&i.reason&&e("p",{class:"muted"},s(i.reason,200)),e(L,{rows:_}),y(t("card.waits"),i.waits.map(t=>e("li",{key:t.message_id,class:"row"},e(ne,{board:o,id:t.on}),e(ve,{since:t.since,now:a})))),y(t("card.calls"),i.calls.slice(0,6).map(t=>e("li",{key:t.id,class:"code clip",title:n(t.subject)},s(t.name,20)," ",e("span",{class:"muted"},s(t.subject,60))))),i.plan.length>0&&[e("h3",null,t("plan")),e(ft,{steps:i.plan})],c&&e("div",{class:"card-acts"},e("a",{class:"button",href:`${u}/conversation?agent=${i.id}`},t("nav.conversation")),e("a",{class:"button",href:`${u}/changes?agent=${encodeURIComponent(i.name)}`},t("nav.changes")),A(i)&&e("button",{disabled:m||i.stopping,onClick:()=>f(()=>c.interrupt(i.id))},t("stop")),!v&&e(C,{label:t("card.model"),hidden:!0,none:t("card.model"),of:l.map(e=>e.id),disabled:m,value:"",set:e=>e&&f(()=>c.changeModel(i.id,e))})))}let gt={completed:"✓",in_progress:"▸",pending:"○"},ft=({steps:t})=>e("ol",{class:"plan"},t.map((t,s)=>e("li",{key:s,class:`step ${Object.hasOwn(gt,t.status)?t.status:""}`},e(y,{is:gt[t.status]||"·"}),e("span",null,e("span",{class:"hidden"},u("step",t.status),": "),n(t.text))))),ao=120;function ro({head:n,at:s,ts:o,show:a,live:l}){let[d,u]=i(!1),[b,g]=i(null),m=h(s);m.current=s,c(()=>{if(!d)return 0[0];let e=setInterval(()=>{m.current>=n?u(!1):a(m.current+1)},ao);return()=>clearInterval(e)},[d,n]),c(()=>g(null),[s]);let f=b??s,v=t("replay.at",{seq:f,head:n}),p=e=>{u(!1),g(Math.min(Math.max(e,1),n)),a(e)},j=()=>{!d&&s>=n&&a(1),u(!d)};return e("div",{class:"scrubber",role:"group","aria-label":t("replay.label")},e(J,{word:"replay.back",mark:"◀",disabled:s<=1,onClick:()=>p(s-1)}),e(J,{word:d?"replay.pause":"replay.play",mark:d?"❚❚":"▶",disabled:n<2,"aria-pressed":d,onClick:j}),e(J,{word:"replay.on",mark:"▶▏",disabled:s>=n,onClick:()=>p(s+1)}),e("input",{type:"range",min:"1",max:Math.max(1,n),value:f,"aria-label":t("replay.place"),"aria-valuetext":v,onInput:e=>p(Number(e.target.value))}),e("span",{class:"num scrub-at",title:v},r(f)," / ",r(n)," ",e("span",{class:"muted"},B(o))),e("button",{class:l?"live on":"live","aria-pressed":l,onClick:()=>{u(!1),a(null)}},e(y,{is:l?"●":"○"})," ",t("replay.live")))}let He={team:Js,conversation:Xn,changes:Bn},lt={sessions:Jt,inbox:ms,settings:ws};function ct(e){let[a,r=""]=e.replace(/^#\/?/,"").split("?"),[t,n,s,o]=a.split("/").map(e=>decodeURIComponent(e)),i=Object.fromEntries(new URLSearchParams(r));return t==="s"&&/^[A-Za-z0-9_-]{1,64}$/.test(n||"")?{screen:"session",id:n,tab:Object.hasOwn(He,s)?s:"team",seq:/^\d{1,15}$/.test(o||"")?Number(o):null,params:i}:{screen:Object.hasOwn(lt,t)?t:"sessions",params:i}}let rt=e=>{try{return e(localStorage)||""}catch{return""}},q=e=>rt(t=>t.getItem(`planck.${e}`)),ot=(e,t)=>rt(n=>n.setItem(`planck.${e}`,t));function po(t){let s={status:"loading",items:[],next:null},i={access:"checking",route:{screen:"sessions",params:{}},room:null,now:I.now(),toasts:[],help:!1,notices:[],me:null,inbox:{items:[],connection:"connecting",lostSince:0,ready:!1},sessions:s,models:s,teams:s,theme:q("theme")||"auto",language:q("language"),keys:q("keys")||"on",problem:null},o=new kn(i,()=>ut(e(bo,{state:i,act:n}),t)),n=new _o(o);n.applyLook(),addEventListener("hashchange",()=>n.go()),addEventListener("keydown",e=>n.press(e)),setInterval(()=>{document.visibilityState==="visible"&&o.set({now:I.now()})},1e3),o.touch(),n.enter()}let st=e=>({room:e,tick:e.lanes,words:e.words,facts:e.facts});function vo(s,{events:o,session:i={}}){let a=Ne.of(o,i),r="team",c=e=>{r=e,a.touch()};return a.touch=()=>ut(e("div",{class:"app"},e("header",{class:"topbar"},e("div",{class:"where"},e("h1",{class:"clip"},e("bdi",null,n(a.board.name||i.name||a.board.id)))),e("nav",{class:"tabs","aria-label":t("nav.session")},["team","conversation"].map(n=>e("button",{key:n,"aria-current":r===n?"page":0[0],onClick:()=>c(n)},t(`nav.${n}`))))),e("main",{class:"main"},e(He[r],{...st(a),now:Date.parse(a.board.updated),act:null}))),s),a.touch(),a}class bo extends Be{componentDidCatch(e){this.setState({problem:e})}render({state:s,act:o}){let{room:i,route:a,inbox:r,now:c}=s;if(this.state.problem)return e("main",{class:"page"},e(T,{problem:this.state.problem,retry:()=>location.reload()}));if(s.access!=="in")return e(yo,{state:s,act:o});let l=e=>{e.preventDefault(),document.getElementById("main").focus()};return e("div",{class:`app at-${a.screen}`},e("a",{class:"skip",href:"#main",onClick:l},t("skip")),e(ys,{state:s,act:o}),e(ss,{room:i,inbox:r,now:c}),e("main",{class:"main",id:"main",tabindex:"-1"},e(jo,{state:s,act:o})),e(ns,{items:s.toasts,dismiss:e=>o.dismiss(e)}),e("div",{class:"hidden","aria-live":"polite"},i?.finished?n(i.finished.slice(0,1e3)):""),s.help&&e(Gn,{close:()=>o.store.set({help:!1})}))}}function jo({state:t,act:n}){let{room:s,now:a,models:r,route:{screen:c,tab:i,seq:l,params:o}}=t;if(!s)return e(lt[c]||Jt,{state:t,act:n});let d=i==="changes"?`${s.id}?${o.call||o.agent}`:s.id;return e(He[i],{key:d,...st(s),now:a,act:n,base:`#/s/${s.id}`,models:r.items,seq:l,agent:o.agent,params:o})}function yo({state:{access:n,problem:s},act:o}){return n==="checking"?e("main",{class:"door","aria-busy":"true"},e("span",{class:"hidden"},t("loading"))):e("main",{class:"door"},e("h1",null,t("door.title")),n==="problem"?e(T,{problem:s,retry:()=>o.enter()}):[e("p",null,t("door.words")),e("p",null,e("code",null,"planck serve --open")),e("form",{class:"row",onSubmit:F(({code:e})=>o.redeem(e))},e("input",{name:"code",class:"grow",autocomplete:"off","aria-label":t("door.code"),placeholder:t("door.code"),required:!0,maxlength:"128"}),e("button",{class:"primary"},t("door.enter"))),s&&e("p",{class:"error"},t("door.bad"))])}class _o{constructor(e){this.store=e,this.announced=new Set,this.asked={}}get state(){return this.store.state}async enter(){let e=/^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);e&&(history.replaceState(null,"",`${location.pathname}#${e[2]||"/sessions"}`),await l("/auth/code",{code:e[1]}).catch(()=>{}));try{let e=ct(location.hash);e.screen==="session"&&this.store.set({route:e,room:this.makeRoom(e.id)});let t=await v("/me");this.store.set({access:"in",me:t,problem:null,language:q("language")||t.locale}),this.applyLook(),this.followInbox(),this.load("models"),v("/notices").then(({items:e})=>this.store.set({notices:e}),()=>{}),this.go()}catch(e){this.store.set({access:"problem",problem:e}),this.checkOut(e)}}checkOut({status:e}){e===401&&this.store.set({access:"out",problem:null})}async redeem(e){try{await l("/auth/code",{code:e.trim()}),await this.enter()}catch(e){this.store.set({access:"out",problem:e})}}go(){if(this.state.access!=="in")return;let{room:t}=this.state,e=ct(location.hash),n=this.state.route;t?.id!==e.id&&(t?.close(),t=e.id?this.makeRoom(e.id):null),this.store.set({route:e,room:t}),this.setTitle(),(n.screen!==e.screen||n.tab!==e.tab)&&document.getElementById("main")?.scrollTo(0,0)}makeRoom(e){let t=new Ne(e,()=>{this.state.room===t&&this.setTitle(),this.store.touch()});return t.onreset=()=>this.reopen(),t.open(),t}reopen(){let{room:e}=this.state;e.close(),this.store.set({room:this.makeRoom(e.id)})}async attempt(e){try{return await e(),null}catch(e){return this.checkOut(e),this.tell(e.kind||"internal_error",e.message||t("error.away"),"error"),e}}tell(e,t,n=""){let s=Tt();this.store.set({toasts:[...this.state.toasts.slice(-3),{id:s,title:e,words:t,kind:n}]}),setTimeout(()=>this.dismiss(s),n==="error"?12e3:6e3)}dismiss(e){this.store.set({toasts:this.state.toasts.filter(t=>t.id!==e)})}async load(e,t=`/${e}`,n=[]){let o={};this.asked[e]=o;let s=t=>{this.asked[e]===o&&this.store.set({[e]:{...this.state[e],...t}})};this.state[e].status==="error"&&s({status:"loading"});try{let{items:e,next:o}=await v(t);s({status:"ready",items:[...n,...e],next:o})}catch(e){s({status:"error",items:[],next:null,problem:e})}}loadPlace(){this.load("models"),this.load("teams")}loadSessions(e,t={},n=[]){return this.load("sessions",`/sessions${Fe({q:e.trim().slice(0,200),limit:50,...t})}`,n)}moreSessions(e){return this.loadSessions(e,{cursor:this.state.sessions.next},this.state.sessions.items)}changeRows(e){let{sessions:t}=this.state;this.store.set({sessions:{...t,items:t.items.flatMap(e)}})}replace(e){this.changeRows(t=>t.id===e.id?e:t)}start(e){let t=Object.fromEntries(Object.entries(e).filter(([,e])=>e!==""));return t.max_budget_usd&&(t.max_budget_usd=Number(t.max_budget_usd)),this.attempt(async()=>{location.hash=`#/s/${(await l("/sessions",t)).id}/team`})}rename(e,t){return this.attempt(async()=>this.replace(await ze(`/sessions/${e}`,{name:t})))}deleteSession(e){return this.attempt(async()=>{await tn(`/sessions/${e}`),this.changeRows(t=>t.id===e?[]:t)})}fork(e,n){return this.attempt(async()=>{let s=await l(`/sessions/${e}/fork`,n?{at:n}:{});this.tell(s.name,t("fork.made")),location.hash=`#/s/${s.id}/conversation`})}get place(){return`/sessions/${this.state.room.id}`}prompt(e,t={}){let{room:n}=this.state;return this.attempt(async()=>{await l(`${this.place}/prompts`,{text:e,...t}),n.wake()})}goOnFrom(e,t){let{place:n,state:{room:s}}=this,o=()=>new Promise(e=>setTimeout(e,200));return this.attempt(async()=>{await l(`${n}/interrupt`);for(let e=50;e>0&&s.board.agents.some(A);e-=1)await o();for(let t=10;;t-=1)try{await l(`${n}/rewind`,{to:Math.max(0,e-1)});break}catch(e){if(e.status!==400||t<=0)throw e;await o()}s.wake(),t&&await l(`${n}/prompts`,{text:t})})}interrupt(e){return this.attempt(()=>l(`${this.place}/interrupt`,{agent:e}))}changeMode(e){return this.attempt(()=>ze(this.place,{mode:e}))}changeModel(e,t){return this.attempt(()=>ze(`${this.place}/agents/${encodeURIComponent(e)}`,{model:t}))}followInbox(){this.inboxStream?.close();let e=e=>this.state.inbox.items.filter(t=>t.id!==e);this.settle=t=>this.changeInbox({items:e(t)}),this.inboxStream=new dt(()=>"/inbox/events",{live:()=>this.changeInbox({items:[],ready:!0}),question:t=>{this.changeInbox({items:[...e(t.id),t]}),this.announce(t)},settled:({id:e})=>this.settle(e),session:e=>this.replace(e),state:e=>{this.changeInbox({connection:e,lostSince:e==="lost"?this.state.inbox.lostSince||I.now():0}),e==="lost"&&v("/me").catch(e=>this.checkOut(e))}})}changeInbox(e){this.store.set({inbox:{...this.state.inbox,...e}}),this.setTitle()}announce(e){if(this.announced.has(e.id))return;if(this.announced.add(e.id),document.visibilityState==="visible"||!this.notifies)return;let s=new Notification(t("inbox.asks",{agent:n(e.agent).slice(0,80)}),{body:n(e.text).slice(0,200),tag:e.id});s.onclick=()=>{focus(),location.hash="#/inbox"}}answer({id:e,digest:t},n,s){return this.attempt(async()=>{await l(`/approvals/${e}`,{digest:t,allow:n,...s}),this.settle(e)})}setTitle(){let{inbox:{items:e},room:i,route:s}=this.state,o=i?.board.name||(s.screen==="session"?"":t(`nav.${s.screen}`));document.title=`${e.length?`(${e.length}) `:""}${o?`${n(o).slice(0,80)} · `:""}Planck`}setLook(e){for(let[t,n]of Object.entries(e))ot(t,n);this.store.set(e),this.applyLook()}applyLook(){let{theme:t,language:n}=this.state,e=document.documentElement;e.dataset.theme=t,e.lang=Ge(n),this.store.set({language:e.lang})}async setNotify(e){let t=e&&globalThis.Notification&&await Notification.requestPermission()==="granted";ot("notify",t?"on":"off"),this.store.touch()}get notifies(){return q("notify")==="on"&&globalThis.Notification?.permission==="granted"}async leave(){await this.attempt(()=>tn("/auth")),this.inboxStream?.close(),this.state.room?.close(),this.store.set({access:"out",room:null,problem:null})}press(e){let{target:a,key:t}=e,{room:n,keys:r}=this.state,c=document.querySelector("dialog[open]");if(r==="off"||c||e.defaultPrevented||e.ctrlKey||e.metaKey||e.altKey||a.closest?.("input, textarea, select"))return;let s=n&&`#/s/${n.id}`,o={i:"#/inbox",s:"#/sessions",...n&&{t:`${s}/team`,c:`${s}/conversation`,d:`${s}/changes`}},i={"/":"find",m:"composer"};if(t==="?")this.store.set({help:!0});else if(Object.hasOwn(o,t))location.hash=o[t];else if(Object.hasOwn(i,t))document.getElementById(i[t])?.focus();else if(t==="X"&&n)this.interrupt("");else return;e.preventDefault()}}let nt=e=>JSON.parse(document.getElementById(e)?.textContent||"null"),Je=nt("planck-events"),Xe=document.getElementById("app");Je?vo(Xe,{events:Je,session:nt("planck-session")}):po(Xe)})()
