// Made of page/ by `make page`.
(()=>{"use strict";const{h:e,useEffect:l,useState:i,useRef:h,Component:Be,useLayoutEffect:rt,useMemo:W,render:mt}=(()=>{var e,i,d,T,z,U,h={},W=[],K=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;function n(e,t){for(var n in t)e[n]=t[n];return e}function R(e){var t=e.parentNode;t&&t.removeChild(e)}function N(e,t,n){var s,i,a,o={};for(s in t)"key"==s?i=t[s]:"ref"==s?a=t[s]:o[s]=t[s];if(arguments.length>2&&(o.children=arguments.length>3?d.call(arguments,2):n),"function"==typeof e&&null!=e.defaultProps)for(s in e.defaultProps)0[0]===o[s]&&(o[s]=e.defaultProps[s]);return r(e,o,i,a,null)}function r(t,n,s,o,i){var a={type:t,props:n,key:s,ref:o,__k:null,__:null,__b:0,__e:null,__d:0[0],__c:null,__h:null,constructor:0[0],__v:i??++T};return null!=e.vnode&&e.vnode(a),a}function c(e){return e.children}function o(e,t){this.props=e,this.context=t}function s(e,t){if(t==null)return e.__?s(e.__,e.__.__k.indexOf(e)+1):null;for(var n;t<e.__k.length;t++)if(null!=(n=e.__k[t])&&null!=n.__e)return n.__e;return"function"==typeof e.type?s(e):null}function w(e){var t,n;if(null!=(e=e.__)&&null!=e.__c){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if(null!=(n=e.__k[t])&&null!=n.__e){e.__e=e.__c.base=n.__e;break}return w(e)}}function A(t){(!t.__d&&(t.__d=!0)&&i.push(t)&&!l.__r++||U!==e.debounceRendering)&&((U=e.debounceRendering)||z)(l)}function l(){for(var e;l.__r=i.length;)e=i.sort(function(e,t){return e.__v.__b-t.__v.__b}),i=[],e.some(function(e){var t,o,i,a,r,c;e.__d&&(o=(t=(i=e).__v).__e,(r=i.__P)&&(a=[],(c=n({},t)).__v=t.__v+1,y(r,t,c,i.__n,0[0]!==r.ownerSVGElement,null!=t.__h?[o]:null,a,o??s(t),t.__h),_(a,t),t.__e!=o&&w(t)))})}function k(e,t,n,o,i,a,l,d,u,m){var f,p,g,b,j,_,w,v=o&&o.__k||W,O=v.length;for(n.__k=[],p=0;p<t.length;p++)if(null!=(f=n.__k[p]=null==(f=t[p])||"boolean"==typeof f?null:"string"==typeof f||"number"==typeof f||"bigint"==typeof f?r(null,f,null,null,f):Array.isArray(f)?r(c,{children:f},null,null,null):f.__b>0?r(f.type,f.props,f.key,null,f.__v):f)){if(f.__=n,f.__b=n.__b+1,null===(g=v[p])||g&&f.key==g.key&&f.type===g.type)v[p]=0[0];else for(j=0;j<O;j++){if((g=v[j])&&f.key==g.key&&f.type===g.type){v[j]=0[0];break}g=null}y(e,f,g=g||h,i,a,l,d,u,m),_=f.__e,(j=f.ref)&&g.ref!=j&&(b||(b=[]),g.ref&&b.push(g.ref,null,f),b.push(j,f.__c||_,f)),_!=null?(w==null&&(w=_),"function"==typeof f.type&&null!=f.__k&&f.__k===g.__k?f.__d=u=x(f,u,e):u=P(e,f,g,v,_,u),m||"option"!==n.type?"function"==typeof n.type&&(n.__d=u):e.value=""):u&&g.__e==u&&u.parentNode!=e&&(u=s(g))}for(n.__e=w,p=O;p--;)null!=v[p]&&("function"==typeof n.type&&null!=v[p].__e&&v[p].__e==n.__d&&(n.__d=s(o,p+1)),F(v[p],v[p]));if(b)for(p=0;p<b.length;p++)M(b[p],b[++p],b[++p])}function x(e,t,n){var s,o;for(o=0;o<e.__k.length;o++)(s=e.__k[o])&&(s.__=e,t="function"==typeof s.type?x(s,t,n):P(n,s,s,e.__k,s.__e,t));return t}function P(e,t,n,s,o,i){var a,r,c;if(0[0]!==t.__d)a=t.__d,t.__d=0[0];else if(n==null||o!=i||null==o.parentNode)e:if(i==null||i.parentNode!==e)e.appendChild(o),a=null;else{for(r=i,c=0;(r=r.nextSibling)&&c<s.length;c+=2)if(r==o)break e;e.insertBefore(o,i),a=i}return 0[0]!==a?a:o.nextSibling}function O(e,t,n){"-"===t[0]?e.setProperty(t,n):e[t]=n==null?"":"number"!=typeof n||K.test(t)?n:n+"px"}function p(e,t,n,s,o){var i;e:if("style"===t){if("string"==typeof n)e.style.cssText=n;else{if("string"==typeof s&&(e.style.cssText=s=""),s)for(t in s)n&&t in n||O(e.style,t,"");if(n)for(t in n)s&&n[t]===s[t]||O(e.style,t,n[t])}}else if("o"===t[0]&&"n"===t[1])i=t!==(t=t.replace(/Capture$/,"")),t=t.toLowerCase()in e?t.toLowerCase().slice(2):t.slice(2),e.l||(e.l={}),e.l[t+i]=n,n?s||e.addEventListener(t,i?E:C,i):e.removeEventListener(t,i?E:C,i);else if("dangerouslySetInnerHTML"!==t){if(o)t=t.replace(/xlink[H:h]/,"h").replace(/sName$/,"s");else if("href"!==t&&"list"!==t&&"form"!==t&&"tabIndex"!==t&&"download"!==t&&t in e)try{e[t]=n??"";break e}catch{}"function"==typeof n||(n!=null&&(!1!==n||"a"===t[0]&&"r"===t[1])?e.setAttribute(t,n):e.removeAttribute(t))}}function C(t){this.l[t.type+!1](e.event?e.event(t):t)}function E(t){this.l[t.type+!0](e.event?e.event(t):t)}function y(t,s,i,a,r,l,d,u,h){var m,f,p,v,b,j,y,_,w,O,x,g=s.type;if(0[0]!==s.constructor)return null;null!=i.__h&&(h=i.__h,u=s.__e=i.__e,s.__h=null,l=[u]),(f=e.__b)&&f(s);try{e:if("function"==typeof g){if(p=s.props,b=(f=g.contextType)&&a[f.__c],v=f?b?b.props.value:f.__:a,i.__c?x=(m=s.__c=i.__c).__=m.__E:("prototype"in g&&g.prototype.render?s.__c=m=new g(p,v):(s.__c=m=new o(p,v),m.constructor=g,m.render=ee),b&&b.sub(m),m.props=p,m.state||(m.state={}),m.context=v,m.__n=a,_=m.__d=!0,m.__h=[]),null==m.__s&&(m.__s=m.state),null!=g.getDerivedStateFromProps&&(m.__s==m.state&&(m.__s=n({},m.__s)),n(m.__s,g.getDerivedStateFromProps(p,m.__s))),j=m.props,w=m.state,_)null==g.getDerivedStateFromProps&&null!=m.componentWillMount&&m.componentWillMount(),null!=m.componentDidMount&&m.__h.push(m.componentDidMount);else{if(null==g.getDerivedStateFromProps&&p!==j&&null!=m.componentWillReceiveProps&&m.componentWillReceiveProps(p,v),!m.__e&&null!=m.shouldComponentUpdate&&!1===m.shouldComponentUpdate(p,m.__s,v)||s.__v===i.__v){m.props=p,m.state=m.__s,s.__v!==i.__v&&(m.__d=!1),m.__v=s,s.__e=i.__e,s.__k=i.__k,s.__k.forEach(function(e){e&&(e.__=s)}),m.__h.length&&d.push(m);break e}null!=m.componentWillUpdate&&m.componentWillUpdate(p,m.__s,v),null!=m.componentDidUpdate&&m.__h.push(function(){m.componentDidUpdate(j,w,O)})}m.context=v,m.props=p,m.state=m.__s,(f=e.__r)&&f(s),m.__d=!1,m.__v=s,m.__P=t,f=m.render(m.props,m.state,m.context),m.state=m.__s,null!=m.getChildContext&&(a=n(n({},a),m.getChildContext())),_||null==m.getSnapshotBeforeUpdate||(O=m.getSnapshotBeforeUpdate(j,w)),y=f!=null&&f.type===c&&null==f.key?f.props.children:f,k(t,Array.isArray(y)?y:[y],s,i,a,r,l,d,u,h),m.base=s.__e,s.__h=null,m.__h.length&&d.push(m),x&&(m.__E=m.__=null),m.__e=!1}else l==null&&s.__v===i.__v?(s.__k=i.__k,s.__e=i.__e):s.__e=te(i.__e,s,i,a,r,l,d,h);(f=e.diffed)&&f(s)}catch(t){s.__v=null,(h||l!=null)&&(s.__e=u,s.__h=!!h,l[l.indexOf(u)]=null),e.__e(t,s,i)}}function _(t,n){e.__c&&e.__c(n,t),t.some(function(n){try{t=n.__h,n.__h=[],t.some(function(e){e.call(n)})}catch(t){e.__e(t,n.__v)}})}function te(e,t,n,o,i,a,r,c){var f,v,b,g=n.props,u=t.props,m=t.type,l=0;if("svg"===m&&(i=!0),a!=null)for(;l<a.length;l++)if((v=a[l])&&(v===e||(m?v.localName==m:3==v.nodeType))){e=v,a[l]=null;break}if(e==null){if(null===m)return document.createTextNode(u);e=i?document.createElementNS("http://www.w3.org/2000/svg",m):document.createElement(m,u.is&&u),a=null,c=!1}if(null===m)g===u||c&&e.data===u||(e.data=u);else{if(a=a&&d.call(e.childNodes),b=(g=n.props||h).dangerouslySetInnerHTML,f=u.dangerouslySetInnerHTML,!c){if(a!=null)for(g={},l=0;l<e.attributes.length;l++)g[e.attributes[l].name]=e.attributes[l].value;(f||b)&&(f&&(b&&f.__html==b.__html||f.__html===e.innerHTML)||(e.innerHTML=f&&f.__html||""))}if(function(e,t,n,s,o){var i;for(i in n)"children"===i||"key"===i||i in t||p(e,i,null,n[i],s);for(i in t)o&&"function"!=typeof t[i]||"children"===i||"key"===i||"value"===i||"checked"===i||n[i]===t[i]||p(e,i,t[i],n[i],s)}(e,u,g,i,c),f)t.__k=[];else if(l=t.props.children,k(e,Array.isArray(l)?l:[l],t,n,o,i&&"foreignObject"!==m,a,r,a?a[0]:n.__k&&s(n,0),c),a!=null)for(l=a.length;l--;)null!=a[l]&&R(a[l]);c||("value"in u&&0[0]!==(l=u.value)&&(l!==e.value||"progress"===m&&!l)&&p(e,"value",l,g.value,!1),"checked"in u&&0[0]!==(l=u.checked)&&l!==e.checked&&p(e,"checked",l,g.checked,!1))}return e}function M(t,n,s){try{"function"==typeof t?t(n):t.current=n}catch(t){e.__e(t,s)}}function F(t,n,s){var o,i;if(e.unmount&&e.unmount(t),(o=t.ref)&&(o.current&&o.current!==t.__e||M(o,null,n)),null!=(o=t.__c)){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(t){e.__e(t,n)}o.base=o.__P=null}if(o=t.__k)for(i=0;i<o.length;i++)o[i]&&F(o[i],n,"function"!=typeof t.type);s||null==t.__e||R(t.__e),t.__e=t.__d=0[0]}function ee(e,t,n){return this.constructor(e,n)}function J(t,n,s){var o,i,a;e.__&&e.__(t,n),i=(o="function"==typeof s)?null:s&&s.__k||n.__k,a=[],y(n,t=(!o&&s||n).__k=N(c,null,[t]),i||h,h,0[0]!==n.ownerSVGElement,!o&&s?[s]:i?null:n.firstChild?d.call(n.childNodes):null,a,!o&&s?s:i?i.__e:n.firstChild,o),_(a,t)}d=W.slice,e={__e:function(e,t){for(var n,s,o;t=t.__;)if((n=t.__c)&&!n.__)try{if((s=n.constructor)&&null!=s.getDerivedStateFromError&&(n.setState(s.getDerivedStateFromError(e)),o=n.__d),null!=n.componentDidCatch&&(n.componentDidCatch(e),o=n.__d),o)return n.__E=n}catch(t){e=t}throw e}},T=0,o.prototype.setState=function(e,t){var s=null!=this.__s&&this.__s!==this.state?this.__s:this.__s=n({},this.state);"function"==typeof e&&(e=e(n({},s),this.props)),e&&n(s,e),e!=null&&this.__v&&(t&&this.__h.push(t),A(this))},o.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),A(this))},o.prototype.render=c,i=[],z="function"==typeof Promise?Promise.prototype.then.bind(Promise.resolve()):setTimeout,l.__r=0;var t,a,v,L,ne=0,u=0,j=[],H=e.__b,I=e.__r,B=e.diffed,V=e.__c,$=e.unmount;function f(n,s){e.__h&&e.__h(t,n,u||s),u=0;var o=t.__H||(t.__H={__:[],__h:[]});return n>=o.__.length&&o.__.push({}),o.__[n]}function Z(e){return u=1,X(S,e)}function X(e,n,s){var o=f(a++,2);return o.t=e,o.__c||(o.__=[s?s(n):S(0[0],n),function(e){var t=o.t(o.__[0],e);o.__[0]!==t&&(o.__=[t,o.__[1]],o.__c.setState({}))}],o.__c=t),o.__}function q(n,s){var o=f(a++,3);!e.__s&&g(o.__H,s)&&(o.__=n,o.__H=s,t.__H.__h.push(o))}function Y(n,s){var o=f(a++,4);!e.__s&&g(o.__H,s)&&(o.__=n,o.__H=s,t.__h.push(o))}function G(e){return u=5,D(function(){return{current:e}},[])}function D(e,t){var n=f(a++,7);return g(n.__H,t)&&(n.__=e(),n.__H=t,n.__h=e),n.__}function Q(){j.forEach(function(t){if(t.__P)try{t.__H.__h.forEach(m),t.__H.__h.forEach(b),t.__H.__h=[]}catch(n){t.__H.__h=[],e.__e(n,t.__v)}}),j=[]}e.__b=function(e){t=null,H&&H(e)},e.__r=function(e){I&&I(e),a=0;var n=(t=e.__c).__H;n&&(n.__h.forEach(m),n.__h.forEach(b),n.__h=[])},e.diffed=function(n){B&&B(n);var s=n.__c;s&&s.__H&&s.__H.__h.length&&(1!==j.push(s)&&L===e.requestAnimationFrame||((L=e.requestAnimationFrame)||function(e){var t,n=function(){clearTimeout(s),v&&cancelAnimationFrame(t),setTimeout(e)},s=setTimeout(n,100);v&&(t=requestAnimationFrame(n))})(Q)),t=0[0]},e.__c=function(t,n){n.some(function(t){try{t.__h.forEach(m),t.__h=t.__h.filter(function(e){return!e.__||b(e)})}catch(s){n.some(function(e){e.__h&&(e.__h=[])}),n=[],e.__e(s,t.__v)}}),V&&V(t,n)},e.unmount=function(t){$&&$(t);var n=t.__c;if(n&&n.__H)try{n.__H.__.forEach(m)}catch(t){e.__e(t,n.__v)}},v="function"==typeof requestAnimationFrame;function m(e){var n=t;"function"==typeof e.__c&&e.__c(),t=n}function b(e){var n=t;e.__c=e.__(),t=n}function g(e,t){return!e||e.length!==t.length||t.some(function(t,n){return t!==e[n]})}function S(e,t){return"function"==typeof t?t(e):t}return{h:N,useEffect:q,useState:Z,useRef:G,Component:o,useLayoutEffect:Y,useMemo:D,render:J}})();let Z="/api/v1";class xt extends Error{constructor(e,t,n){super(n),Object.assign(this,{status:e,kind:t})}}let P={ahead:0,now(){return Date.now()+this.ahead}};function Rs(e){let t=Date.parse(e.headers.get("date")||""),n=t+500-Date.now();t&&(n<0?-n:n)>3e3&&(P.ahead=n)}function kt(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,e=>e.toString(16).padStart(2,"0")).join("")}async function Tt(e,t,n,s="application/json"){let i={method:e,headers:{accept:s},cache:"no-store"};e!=="GET"&&(Object.assign(i.headers,{"content-type":"application/json",...e==="POST"&&{"idempotency-key":kt()}}),i.body=JSON.stringify(n||{}));let o=await fetch(Z+t,i).catch(()=>{throw new xt(0,"network","")});if(Rs(o),o.ok)return o;let a=(await o.json().catch(()=>null))?.error||{};throw new xt(o.status,String(a.kind||"internal_error"),String(a.message||o.status))}let te=async(...e)=>{let t=await Tt(...e);return t.status===204?null:t.json()},p=e=>te("GET",e),r=(e,t)=>te("POST",e,t),Me=(e,t)=>te("PATCH",e,t),zt=e=>te("DELETE",e),he=e=>`?${new URLSearchParams(Object.entries(e).filter(([,e])=>e))}`;function Ce(e){return e.type==="file_changed"?delete e.data.before:(e.type==="compacted"||e.type==="rewound")&&delete e.data.messages,e}async function xe(e,t){let n=await Tt("GET",`/sessions/${e}/events${he(t)}`,null,"application/x-ndjson");return(await n.text()).split(`
`).filter(Boolean).map(e=>Ce(JSON.parse(e)))}let Yt=200,we=500,Xn=50,Gn=100,Bn=["command","path","pattern","name","identifier","query","url"],Rn=["messages","turns","calls","failed_calls","questions","denials","file_changes","compactions","errors","resumes"],de=["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens","reasoning_tokens"],F=(e,t)=>Object.fromEntries(e.map(e=>[e,t(e)])),me=()=>0;function Ee(){return{seq:0,id:"",name:"",workspace:"",version:"",started:"",updated:"",parent:"",forked_at:0,mode:"",state:"done",halted:!1,agents:[],questions:[],owed:[],budget:null,files:[],usage:F(de,me),cost_usd:0,unpriced:0,counts:F(Rn,me),error:null}}function hn(e,t){if(t.seq===null||t.seq===0[0])return e;let n={...e,seq:t.seq,updated:t.ts},s=Object.hasOwn(Ct,t.type)&&Ct[t.type],o=s&&en(s[0],t.data);return o?(s[1](n,t,o,J(n,t.agent_id)),n.state=Ss(n),n):n}function le(e,t=Ee()){for(let n of e)t=hn(t,n);return t}let M=e=>typeof e=="string",ce=e=>typeof e=="object"&&e!==null&&!Array.isArray(e),fn=e=>[t=>t===null||e(t),null],y=[M],o=[M,""],L=[Number.isInteger,0],bn=fn(M),Fe=fn(Number.isFinite),Pn=[e=>typeof e=="boolean",!1],In=[e=>Array.isArray(e)&&e.every(M),[]],Vn=[()=>!0,null];function en(e,t){if(!ce(t))return null;let n={};for(let s in e){let o=e[s];if(o===!0)continue;let i=Object.hasOwn(t,s);if(Array.isArray(o))if(i?!o[0](t[s]):o.length<2)return null;else n[s]=i?t[s]:o[1];else if(n[s]=i||!o.needed?en(o,i?t[s]:{}):null,!n[s])return null}return n}let Zt=F(de,()=>L),Ht={provider:o,model:o,id:o,context_window:[Number.isInteger,128e3]},Pt={id:o,name:o,workspace:o,version:o,options:{mode:o}},Rt={name:o,mode:o},Dt=e=>e.id||`${e.provider}/${e.model}`,I=(e,t)=>e.length<=t?e:Array.from(e).slice(0,t).join(""),As=(e,t)=>F(de,n=>e[n]+t[n]),J=(e,t)=>e.agents.find(e=>e.id===t);function a(e,t,n){let s=e.agents.findIndex(e=>e.id===t&&e.status!=="ended");if(s<0)return;e.agents=e.agents.slice(),e.agents[s]={...e.agents[s],...n}}let b=(e,t,n)=>{e[t]=e[t].filter(n)};function m(e,t,n=1){e.counts={...e.counts,[t]:e.counts[t]+n}}function Ss(e){if(e.questions.length)return"waiting";let t="",n=!1;for(let s of e.agents){if(s.status==="ended")continue;if(s.status!=="idle"||s.unread.length&&!e.halted)return"running";t=t||s.last_turn||"none",n=n||s.unread.length>0}return t==="failed"||t==="capped"?"failed":n||t==="interrupted"||t==="timed_out"?"interrupted":"done"}function Ft(e,t){e.agents=e.agents.map(e=>e.waits.some(t)?{...e,waits:e.waits.filter(e=>!t(e))}:e)}function Mt(e){Ft(e,()=>!0),e.questions=[],b(e,"owed",e=>e.kind!=="ask")}function ye(e,t){for(let o of t){let n=e.owed.find(e=>e.id===o);if(!n)continue;let s=J(e,n.from);b(e,"owed",e=>e!==n),s&&a(e,s.id,{waits:s.waits.filter(e=>e.message_id!==o)})}}function ue(e,t){let n=new Set(J(e,t)?.waits.map(e=>e.message_id));a(e,t,{waits:[]}),b(e,"questions",e=>e.agent_id!==t),b(e,"owed",e=>!n.has(e.id))}function zs(e){return M(e)?e:e===null?"None":typeof e=="boolean"?e?"True":"False":typeof e=="number"?String(e):JSON.stringify(e)}function At(e){if(!ce(e))return"";let t=Bn.find(t=>Object.hasOwn(e,t)&&M(e[t]));return t?I(e[t],Yt):""}function Ls(e){if(!ce(e)||!Array.isArray(e.steps))return[];let t=(e,t)=>Object.hasOwn(e,t)?zs(e[t]):"";return e.steps.slice(0,Xn).filter(ce).map(e=>({text:I(t(e,"text"),Yt),status:t(e,"status")}))}function Et(e,t,n){e.mode=n.mode||e.mode,e.name=n.name||e.name}let Ct={session_started:[Pt,(e,t,{options:n,...s})=>Object.assign(e,s,{started:t.ts,mode:n.mode})],session_resumed:[Pt,(e,t,n)=>{m(e,"resumes"),Mt(e),e.version=n.version||e.version,e.mode=n.options.mode||e.mode,e.halted=!1}],renamed:[Rt,Et],mode_changed:[Rt,Et],forked:[{session_id:o,at:L},(e,t,n)=>{Mt(e),e.parent=n.session_id,e.forked_at=n.at}],agent_started:[{agent:{needed:!0,id:y,type:o,name:o,role:o,model:Ht,delegator_id:o}},(e,t,{agent:{id:n,type:s,name:o,role:i,model:a,delegator_id:r}})=>{b(e,"agents",e=>e.id!==n),e.agents.push({id:n,type:s,name:o,role:i,delegator_id:r,model:Dt(a),status:"idle",since:t.ts,stopping:!1,turn:0,steps:0,opened_by:"",last_turn:"",ended:"",reason:"",unread:[],calls:[],waits:[],plan:[],usage:F(de,me),cost_usd:0,unpriced:0,context:0,window:a.context_window,error:null})}],agent_ended:[{status:o,reason:o},(e,t,n)=>{let s=t.agent_id;a(e,s,{status:"ended",since:t.ts,ended:n.status,reason:I(n.reason,we),stopping:!1,opened_by:"",unread:[],calls:[],waits:[]}),Ft(e,e=>e.on===s),b(e,"questions",e=>e.agent_id!==s),b(e,"owed",e=>e.to!==s)}],message:[{id:y,kind:o,from:o,to:o,correlation_id:bn},(e,t,{id:n,kind:s,from:o,to:i,correlation_id:r})=>{let l={id:n,kind:s,from:o,to:i,since:t.ts};m(e,"messages");let c=J(e,i);c&&a(e,c.id,{unread:[...c.unread,l]}),(s==="ask"||s==="task")&&o!=="user"?e.owed=[...e.owed,l]:s==="response"&&r&&ye(e,[r])}],delivery:[{ids:In,state:o},(e,t,n,s)=>{s&&a(e,s.id,{unread:s.unread.filter(e=>!n.ids.includes(e.id))}),n.state!=="delivered"&&ye(e,n.ids)}],wait:[{on:y,message_id:y,deadline:o,call_id:bn},(e,t,n,s)=>{if(!s||s.opened_by===""||s.stopping)return;a(e,s.id,{waits:[...s.waits,{...n,call_id:n.call_id||"",since:t.ts}]})}],control:[{action:y,target:o},(e,t,n)=>{let s=n.action==="halt";for(let t of e.agents.filter(e=>s||e.id===n.target))n.action==="destroy"&&a(e,t.id,{ended:"destroyed"}),t.opened_by&&(a(e,t.id,{stopping:!0}),ue(e,t.id));e.halted=e.halted||s}],turn_start:[{message_id:o},(e,t,n)=>{ue(e,t.agent_id||""),m(e,"turns"),e.halted=!1,a(e,t.agent_id,{status:"streaming",since:t.ts,turn:t.turn,steps:0,opened_by:n.message_id,calls:[],error:null,stopping:!1})}],turn_end:[{status:o},(e,t,n,s)=>{if(!s)return;ue(e,s.id),ye(e,e.owed.filter(e=>e.id===s.opened_by&&e.kind==="ask").map(e=>e.id)),a(e,s.id,{status:"idle",since:t.ts,last_turn:n.status,opened_by:"",calls:[],stopping:!1})}],assistant_message:[{message:{needed:!0,usage:Zt}},(e,t,{message:{usage:n}},s)=>{if(!s)return;let o=n.input_tokens+n.cache_read_tokens+n.cache_write_tokens+n.output_tokens;a(e,s.id,{steps:s.steps+1,context:o||s.context,since:t.ts})}],tool_start:[{id:y,name:o,args:Vn},(e,t,{id:n,name:s,args:o},i)=>{if(!i)return;let r={id:n,name:s,subject:At(o),since:t.ts,plan:s==="update_plan"?Ls(o):[]};a(e,i.id,{status:"executing_tools",since:t.ts,calls:[...i.calls,r]})}],tool_end:[{id:y,name:o,ok:Pn},(e,t,n,s)=>{m(e,"calls"),n.ok||m(e,"failed_calls"),b(e,"questions",e=>!n.id||e.call_id!==n.id);let o=s?.calls.find(e=>e.id===n.id);if(!o)return;let i=s.calls.filter(e=>e.id!==n.id),c=i.some(e=>e.name==="ask_agent"),r=s.waits.filter(e=>e.call_id===n.id||!e.call_id&&!c).map(e=>e.message_id);a(e,s.id,{status:i.length?"executing_tools":"streaming",since:t.ts,calls:i,waits:s.waits.filter(e=>!r.includes(e.message_id)),plan:o.name==="update_plan"&&n.ok?o.plan:s.plan}),b(e,"owed",e=>!r.includes(e.id))}],usage:[{usage:Zt,cost_usd:Fe},(e,t,n,s)=>{let o=e=>({usage:As(e.usage,n.usage),cost_usd:e.cost_usd+(n.cost_usd||0),unpriced:e.unpriced+(n.cost_usd===null?1:0)});s&&a(e,s.id,o(s)),Object.assign(e,o(e))}],budget:[{limit_usd:Fe,spent_usd:Fe},(e,t,n)=>{n.limit_usd!==null&&(e.budget=n)}],permission_request:[{id:y,call_id:o,tool:o,text:o,adds:o,reason:o,digest:o,deadline:o,agent:o,rule:o,preview:o,hidden_lines:L},(e,t,{agent:n,rule:s,preview:o,hidden_lines:i,...a},r)=>{if(m(e,"questions"),r?.stopping)return;let c=F(["text","adds","reason"],e=>I(a[e],we));e.questions=[...e.questions,{...a,...c,seq:t.seq||0,agent_id:t.agent_id||"",since:t.ts}]}],permission_decision:[{call_id:o,decision:o,request_id:o},(e,t,n)=>{n.decision==="deny"&&m(e,"denials"),b(e,"questions",e=>e.id!==n.request_id&&!(n.call_id&&e.call_id===n.call_id))}],file_changed:[{path:y,call_id:o,after_sha256:o},(e,t,{after_sha256:n,...s})=>{let o=e.files.find(e=>e.path===s.path),i={...s,agent_id:t.agent_id||"",changes:(o?.changes||0)+1,removed:n==="",since:t.ts};e.files=[...e.files.filter(e=>e!==o),i].slice(-Gn),m(e,"file_changes")}],compacted:[{tokens_after:L,window:L},(e,t,n,s)=>{m(e,"compactions"),s&&a(e,s.id,{context:n.tokens_after,window:n.window||s.window})}],rewound:[{},(e,t)=>a(e,t.agent_id,{context:0})],model_changed:[{model:{needed:!0,...Ht}},(e,t,n)=>{a(e,t.agent_id,{model:Dt(n.model),window:n.model.context_window})}],error:[{kind:o,message:o},(e,t,n)=>{let s={agent_id:t.agent_id||"",kind:n.kind,message:I(n.message,we),since:t.ts};m(e,"errors"),a(e,t.agent_id,{error:s}),e.error=s}]},Ps=new Set(["session_resumed","agent_started","agent_ended","compacted","forked","mode_changed","model_changed","renamed","error","control","checked"]);function Ot(e){let t=[];for(let n of e)Ve(t,n);return t}function D(e,t,n,s=400){for(let o=e.length-1;o>=Math.max(0,e.length-s);o-=1){if(!t(e[o]))continue;return e[o]={...e[o],...n(e[o])},e[o]}return null}let ge=e=>t=>t.kind==="call"&&t.id===e;function Ve(e,t){let{seq:l,ts:d,agent_id:i,turn:a,type:o}=t,n=typeof t.data=="object"&&t.data!==null?t.data:{},s=(t,n)=>e.push({seq:l,ts:d,agent:i||"",turn:a,kind:t,...n}),r=e=>e.kind==="turn"&&e.agent===i&&e.turn===a,c=(e,t,s)=>({id:String(n.id),name:String(n.name),subject:e,args:t,end:s,asked:null});switch(o){case"message":{let t=String(n.text??"");n.kind==="response"&&D(e,e=>e.kind==="said"&&e.agent===n.from,e=>({repeated:e.repeated||e.text===t&&!e.thinking}),8),s(n.from!=="user"?"mail":n.origin&&n.origin!=="user"?"told":"prompt",{mail:String(n.kind),from:String(n.from),to:String(n.to),text:t,images:Array.isArray(n.images)?n.images.length:0});break}case"assistant_message":{let i=Array.isArray(n.message?.parts)?n.message.parts:[],t=(e,t)=>i.filter(t=>t?.type===e).map(e=>String(e.text??"")).join(t),e=t("text",""),o=t("thinking",`
`);return(e||o)&&s("said",{text:e,thinking:o}),e}case"tool_start":s("call",c(At(n.args),n.args,null));break;case"tool_end":{let t={ok:Boolean(n.ok),output:String(n.output??""),exit:n.exit_code??null,ms:n.duration_ms||0,error:n.error?.kind||"",notice:n.notice||""};D(e,ge(n.id),()=>({end:t}))||s("call",c("",null,t));break}case"permission_request":D(e,ge(n.call_id),()=>({asked:{decision:""}}));break;case"permission_decision":D(e,ge(n.call_id),()=>({asked:{decision:n.decision,scope:n.scope}}))||s("note",{type:o,data:n});break;case"turn_start":s("turn",{cost:0,steps:0,tokens:0});break;case"usage":{let{input_tokens:t=0,output_tokens:s=0,cache_read_tokens:o=0,cache_write_tokens:i=0}=n.usage||{};D(e,r,({cost:e,steps:a,tokens:r})=>({cost:e===null||n.cost_usd===null?null:e+(n.cost_usd||0),steps:a+1,tokens:r+t+s+o+i}));break}case"turn_end":s("end",{status:String(n.status),began:D(e,r,()=>({}),4e3)});break;case"rewound":{let t=Number(n.to);for(let n=e.length-1;n>=0&&e[n].seq>t;n-=1)e[n].agent===i&&(e[n]={...e[n],gone:!0});let a=e[e.length-1];(a?.type!==o||a.data.to!==t)&&s("note",{type:o,data:{to:t}});break}default:Ps.has(o)&&s("note",{type:o,data:n})}return""}let Hs=4e4,_t=500,Xs=1e4;class vt{constructor(e,{state:t,...n}){Object.assign(this,{path:e,state:t,on:n,retry:_t,closed:!1}),this.wake=()=>{document.visibilityState==="visible"&&this.isSilent()&&this.open()},this.back=()=>this.open(),document.addEventListener("visibilitychange",this.wake),addEventListener("online",this.back),this.watch=setInterval(()=>{this.source&&this.isSilent()&&this.fail()},5e3),this.open()}isSilent(){return Date.now()-this.heard>Hs}open(){if(this.closed)return;this.drop(),this.heard=Date.now();let e=new EventSource(Z+this.path());this.source=e;let t=(t,n)=>e.addEventListener(t,e=>{this.heard=Date.now(),this.retry=_t,n(e)});t("open",()=>this.state("live")),t("ping",()=>{}),t("end",()=>this.end());for(let[e,n]of Object.entries(this.on))t(e,e=>n(JSON.parse(e.data)));e.onerror=()=>{this.source===e&&this.fail(e.readyState===EventSource.CLOSED)}}async fail(e=!1){if(this.drop(),e&&await this.isOver()){this.end();return}if(this.closed)return;this.state("lost"),clearTimeout(this.timer),this.timer=setTimeout(()=>this.open(),this.retry),this.retry=Math.min(this.retry*2,Xs)}async isOver(){let e=new AbortController;try{return(await fetch(Z+this.path(),{headers:{accept:"text/event-stream"},signal:e.signal,cache:"no-store"})).status===204}catch{return!1}finally{e.abort()}}drop(){clearTimeout(this.timer),this.source?.close(),this.source=null}end(){this.close(),this.state("ended")}close(){this.closed=!0,this.drop(),clearInterval(this.watch),document.removeEventListener("visibilitychange",this.wake),removeEventListener("online",this.back)}}class Zs{constructor(e,t){this.state=e,this.draw=t,this.queued=!1}set(e){Object.assign(this.state,e),this.touch()}touch(){if(this.queued)return;this.queued=!0,requestAnimationFrame(()=>{this.queued=!1,this.draw(this.state)})}}let d=500,Js=250,oo=65536,ao=6e4,it=({text:e="",thinking:t="",output:n={}})=>({text:e,thinking:t,output:new Map(Object.entries(n)),note:""});class Ae{constructor(e,t){Object.assign(this,{id:e,touch:t,status:"loading",problem:null,connection:"connecting",lostSince:0,board:Ee(),events:[],first:0,blocks:[],facts:0,lanes:0,words:0,live:new Map,replay:null,older:!1,checkpoints:new Map([[0,Ee()]]),pages:new Map,finished:"",offline:!1})}static of(e,t){let n=new Ae(t.id||"",()=>{});return Object.assign(n,{offline:!0,status:"ready",first:1,events:e.map(Ce)}),n.board=le(n.events),n.rebuild(),n}async open(){try{let e=await p(`/sessions/${this.id}/board`),t=Math.max(0,Math.floor((e.seq-1)/d)-1)*d,n=e.seq?await xe(this.id,{after:t,limit:4*d}):[];if(this.closed)return;this.first=t+1,this.events=n,this.board=le(n.filter(t=>t.seq>e.seq),e),this.rebuild(),this.status="ready",this.follow()}catch(e){Object.assign(this,{status:"error",problem:e})}this.touch()}follow(){this.hide=()=>{clearTimeout(this.hiding),document.visibilityState==="hidden"?this.hiding=setTimeout(()=>this.pause(),ao):this.stream||this.connect()},document.addEventListener("visibilitychange",this.hide),this.connect()}pause(){this.stream?.close(),this.stream=null}connect(){if(this.closed)return;this.stream=new vt(()=>`/sessions/${this.id}/events?after=${this.board.seq}`,{message:e=>this.hear(e),live:e=>this.join(e),reset:()=>this.onreset(),state:e=>{e==="lost"&&this.connection!=="lost"&&(this.lostSince=P.now()),this.connection=e,this.touch()}})}wake(){this.connection==="ended"&&this.connect()}hear(e){e.seq===null?this.hearDelta(e):e.seq>this.board.seq&&this.hearFact(Ce(e))}hearFact(e){this.board=hn(this.board,e),e.seq%d===0&&this.checkpoints.set(e.seq,this.board),this.events.push(e);let s=Ve(this.blocks,e);s&&(this.finished=s),this.facts+=1;let{agent_id:o,type:t,data:i}=e,n=this.live.get(o);n&&((t==="assistant_message"||t==="turn_end")&&Object.assign(n,{text:"",thinking:"",note:""}),t==="tool_end"&&n.output.delete(i.id),(t==="turn_end"||t==="agent_ended")&&this.live.delete(o)),this.drawLanes(),this.touch()}drawLanes(){if(this.waiting)return;let e=()=>{this.waiting=0,this.drawn=Date.now(),this.lanes+=1,this.touch()},t=(this.drawn||0)+Js-Date.now();t<=0?e():this.waiting=setTimeout(e,t)}hearDelta({agent_id:e,type:t,data:n}){this.live.has(e)||this.live.set(e,it({}));let s=this.live.get(e),o=(e,t)=>(e+t).slice(-oo);if(t==="text_delta")s.text=o(s.text,n.text);else if(t==="thinking_delta")s.thinking=o(s.thinking,n.text);else if(t==="tool_progress")s.output.set(n.id,o(s.output.get(n.id)||"",n.text));else if(t==="compacting")s.note="compacting";else if(t==="status"&&n.component==="model")n.state==="discarded"&&Object.assign(s,{text:"",thinking:""}),s.note=n.state==="discarded"||n.detail?`${n.state} ${n.detail||""}`.trim():"";else return;this.words+=1,this.touch()}join(e){this.live=new Map(Object.entries(e).map(([e,t])=>[e,it(t)])),this.words+=1,this.touch()}rebuild(){this.blocks=Ot(this.events),this.facts+=1,this.lanes+=1}async loadOlder(e=this.first-d){if(this.older||this.first<=1||this.offline)return;this.older=!0,this.touch();try{let n=Math.max(0,Math.floor((Math.max(1,e)-1)/d)*d),s=[],t=n;for(;t<this.first-1;){let e=await xe(this.id,{after:t,before:Math.min(this.first,t+5001),limit:5e3});if(!e.length)break;s.push(...e),t=e[e.length-1].seq}this.events=[...s,...this.events],this.first=n+1,this.rebuild()}finally{this.older=!1,this.touch()}}async show(e){let t=e===null||e>=this.board.seq?null:Math.max(1,e);this.asked=t;let n=null;if(t!==null){let e=Math.floor((t-1)/d)*d,[o,i]=await Promise.all([this.findCheckpoint(e),this.findPage(e)]);if(this.asked!==t||this.closed)return;let s=i.filter(e=>e.seq<=t);n={seq:t,board:le(s,o),events:[...this.pages.get(e-d)||[],...s]}}this.replay=n,this.lanes+=1,this.touch()}async findCheckpoint(e){if(!this.checkpoints.has(e)){let t=e;for(;t>0&&!this.checkpoints.has(t);)t-=d;let n=this.first-1<=t&&this.events.length;this.checkpoints.set(e,n?le(this.find(t,e),this.checkpoints.get(t)):await p(`/sessions/${this.id}/board?at=${e}`))}return this.checkpoints.get(e)}find(e,t){return this.events.filter(n=>n.seq>e&&n.seq<=t)}async findPage(e){return this.first-1<=e?this.find(e,e+d):(this.pages.has(e)||this.pages.set(e,await xe(this.id,{after:e,before:e+d+1,limit:d})),this.pages.get(e))}close(){this.closed=!0,this.pause(),clearTimeout(this.waiting),clearTimeout(this.hiding),this.hide&&document.removeEventListener("visibilitychange",this.hide)}}const ro="allowAlways allowOnce allowSession answer budget by by.agent by.call by.turn call.command call.exit call.output call.runs cancel card.calls card.cost card.fresh card.model card.noTurn card.output card.read card.role card.tokens card.unread card.used card.waits card.window card.written changes.empty changes.files changes.lost changes.turn changes.undo changes.undone check.error check.ok check.warning close code code.of config.show config.title conn.ended conn.lost conv.all conv.begin conv.edit conv.empty conv.filter conv.find conv.forget conv.goOn conv.images conv.none conv.older conv.rewind conv.steps conv.thinking conv.toEnd cost.none cost.unknown cost.whole count.calls count.denials count.errors count.failed count.files count.mail decision.allow decision.deny deny denyReason diff diff.added diff.hidden diff.removed doctor.run doctor.title door.bad door.code door.enter door.title door.words error.away export fold fork fork.made from help inbox.adds inbox.asks inbox.call inbox.count inbox.empty inbox.expires inbox.hidden inbox.in inbox.late inbox.lost inbox.more inbox.none inbox.noRule inbox.of inbox.place inbox.reason inbox.rule inbox.shown inbox.why inbox.wider keys.close keys.compose keys.find keys.help keys.pan keys.rows keys.stop keys.zoom kind lanes.asks lanes.hint lanes.label lanes.mail lanes.older lanes.table lanes.tool lanes.waits lanes.work language.en language.es live.compacting loading look.auto look.dark look.keys look.light look.notify look.theme look.title look.words mail.ask mail.prompt mail.response mail.task md.image md.table mode.ask mode.full mode.label mode.plan mode.read-only mode.workspace models.busy models.empty models.price models.test models.title models.used models.window models.works more nav.changes nav.conversation nav.inbox nav.label nav.session nav.sessions nav.settings nav.team nobody note.checked note.compacted note.destroyed note.ended note.forked note.halted note.interrupted note.mode note.model note.renamed note.resumed note.rewound note.started note.told plan replay.at replay.back replay.label replay.live replay.on replay.pause replay.place replay.play replay.shown retry say.busy say.hint say.idle say.label say.queue say.send say.steer say.team say.to scope.once scope.rule scope.session search.label search.none session.done session.failed session.interrupted session.running session.unknown session.waiting sessions.acts sessions.blank sessions.delete sessions.empty sessions.find sessions.fork sessions.held sessions.new sessions.none sessions.origin sessions.rename sessions.sure sessions.where set.leave set.server set.version set.workspace setup.address setup.change setup.default setup.done setup.first setup.go setup.have setup.kept setup.key setup.model setup.name setup.other setup.provider setup.title setup.where setup.words showAll since skip start.budget start.busy start.default start.example start.free start.go start.none start.prompt state state.asks state.ended state.error state.failed state.idle state.stopping state.thinking state.unread state.waits step.completed step.in_progress step.pending stop team.agents team.empty team.label teams.check teams.empty teams.ok teams.title time time.ago time.now to tokens turn.capped turn.completed turn.failed turn.interrupted turn.timed_out undo.commands undo.done undo.look undo.none undo.plan undo.take undo.tick why why.on you".split(" "),st=e=>Object.fromEntries(e.split(`
`).map((e,t)=>[ro[t],e])),Ze=st(`Always allow
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
you`),bo=st(`Permitir siempre
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
tú`);let Xe={en:Ze,es:bo},Ge=Object.keys(Xe),O="en",qe,Ke,Q,He,Ue,We;function gn(e){let n=[e,...globalThis.navigator?.languages||[]];O=n.map(e=>String(e||"").slice(0,2)).find(e=>Ge.includes(e))||"en";let t=e=>new Intl.DateTimeFormat(O,{hourCycle:"h23",...e});return qe=new Intl.PluralRules(O),Ke=new Intl.NumberFormat(O),Q=new Intl.NumberFormat(O,{maximumFractionDigits:1}),He=t({hour:"2-digit",minute:"2-digit"}),Ue=t({dateStyle:"medium",timeStyle:"medium"}),We=t({day:"numeric",month:"short"}),O}gn("");function t(e,t={}){let[n,s=n]=(Xe[O][e]??e).split("|");return(qe.select(t.n)==="one"?n:s).replace(/\{(\w+)\}/g,(e,n)=>{let s=t[n];return typeof s=="number"?c(s):String(s??"")})}let u=(e,n)=>Object.hasOwn(Ze,`${e}.${n}`)?t(`${e}.${n}`):n,c=e=>Ke.format(e);function $(e){return e<1e3?c(e):e<999950?`${Q.format(e/1e3)}k`:`${Q.format(e/1e6)}M`}function g(e){let t=e>=.1||e===0?2:4;return`$${new Intl.NumberFormat(O,{minimumFractionDigits:t,maximumFractionDigits:t}).format(e)}`}let Ye=({cost_usd:e,unpriced:n})=>n?e?`≥ ${g(e)}`:t("cost.none"):g(e);function A(e){let t=Math.max(0,Math.floor(e/1e3)),[n,s]=t<90?[1,"s"]:t<5400?[60,"min"]:t<172800?[3600,"h"]:[86400,"d"];return`${c(Math.floor(t/n))} ${s}`}let ze=e=>e<1e4?`${Q.format(e/1e3)} s`:A(e),V=e=>e?He.format(new Date(e)):"",se=e=>e?Ue.format(new Date(e)):"";function Je(e,n){let s=Date.parse(e);return s?n-s<6e4?t("time.now"):n-s<12*36e5?t("time.ago",{span:A(n-s)}):`${We.format(s)} ${He.format(s)}`:""}let vo=/[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu,go=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]/g,lo=/^[\x20-\x7e\n\t]*$/;function n(e){let t=typeof e=="string"?e:e==null?"":String(e);return lo.test(t)?t:t.replace(/\r\n/g,`
`).replace(vo,(e,t,n)=>{if(e==="‍"&&/\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u.test(n.slice(Math.max(0,t-8),t)))return e;let s=e.codePointAt(0);return s<256?`\\x${s.toString(16).padStart(2,"0")}`:`\\u${s.toString(16).padStart(4,"0")}`})}let oe=e=>n(String(e??"").replace(go,"").replace(/\r\n?/g,`
`));function s(e,t){let s=n(e).replace(/\s+/g," ").trim();if(s.length<=t)return s;let o=Array.from(s);if(o.length<=t)return s;let i=Math.floor((t-1)/3);return`${o.slice(0,t-1-i).join("")}…${i?o.slice(-i).join(""):""}`}let at=8,v=(e,n)=>{if(n==="user")return t("you");let s=e.agents.find(e=>e.id===n);return s?s.name||s.type:n||t("nobody")},ct=(e,t)=>{if(t==="user")return"you";let n=e.agents.findIndex(e=>e.id===t);return n<0?"none":`${n%at}${n>=at?" ring":""}`},io={work:"●",tool:"●",waits:"◌",asks:"▲",idle:"○",failed:"✗",ended:"–"};function dt(e,n){let i=e.questions.find(e=>e.agent_id===n.id),o=(e,t,s=n.since)=>({kind:e,mark:io[e],word:t,since:s});if(n.status==="ended")return n.ended==="failed"?o("failed",t("state.failed")):o("ended",t("state.ended"));if(n.stopping)return o("work",t("state.stopping"));if(i)return o("asks",t("state.asks"),i.since);if(n.waits.length&&n.status!=="idle"){let i=[...new Set(n.waits.map(t=>v(e,t.on)))];return o("waits",t("state.waits",{name:s(i.join(", "),28)}),n.waits[0].since)}if(n.status==="executing_tools"&&n.calls.length){let e=n.calls[n.calls.length-1];return o("tool",s(`${e.name} ${e.subject}`,48),e.since)}return n.status!=="idle"?o("work",t("state.thinking")):n.error&&n.last_turn==="failed"?o("failed",t("state.error",{kind:n.error.kind})):n.last_turn==="capped"?o("failed",t("turn.capped")):n.unread.length?o("idle",t("state.unread",{n:n.unread.length})):o("idle",t("state.idle"))}let S=e=>e.status!=="ended"&&e.status!=="idle";function so(e){let t=[];for(let o of e.agents){let n=[o.id],s=o;for(;s&&S(s);){let t=e.questions.some(e=>e.agent_id===s.id)?"user":s.waits[0]?.on;if(!t||n.includes(t))break;n.push(t),s=e.agents.find(e=>e.id===t)}let i=n[n.length-1]==="user",a=t[t.length-1]==="user";(i===a?n.length>t.length:i)&&(t=n)}let n=e.agents.find(e=>e.id===t[t.length-1]);return t.length>1&&!(n&&S(n)&&!n.waits.length)?t:[]}let _s={running:"●",waiting:"▲",done:"✓",failed:"✗",interrupted:"◼","":"?"},ft=["read-only","plan","ask","workspace","full"];function z({board:t,id:o,length:i=28}){let a=v(t,o);return e("bdi",{class:"name",title:n(a)},s(a,i))}function B({board:t,id:n}){let o=Array.from(s(v(t,n),40))[0]||"?";return e("span",{class:`badge hue-${ct(t,n)}`,"aria-hidden":"true"},o.toUpperCase())}let ie=t=>[e(B,{...t}),e(z,{...t})],j=({is:t})=>e("span",{class:"mark","aria-hidden":"true"},t),jt=({added:t,removed:n})=>e("span",{class:"num changed"},e("span",{class:"ok"},"+",c(t))," ",e("span",{class:"error"},"−",c(n))),yt=({ts:t})=>e("time",{class:"num muted",datetime:n(t),title:se(t)},V(t)),re=({word:n,mark:s,...o})=>e("button",{class:"icon","aria-label":t(n),...o},s),be=({act:t})=>e(re,{word:"close",mark:"×",onClick:t}),fe=()=>e("a",{class:"button ask",href:"#/inbox"},t("answer")),x=({words:t,children:n})=>e("div",{class:"empty"},e("p",null,t),n),_=({title:t,children:n,...s})=>e("details",{...s},e("summary",null,t),n),X=({children:t,label:n})=>e("pre",{class:"output",tabindex:"0","aria-label":n},t),Y=({rows:t,children:n})=>e("dl",{class:"facts"},t.filter(Boolean).map(([t,n,s],o)=>[e("dt",{key:o},t),e("dd",{...s},n)]),n),K=e=>t=>e(t.target.value),N=e=>t=>(t.preventDefault(),e(Object.fromEntries(new FormData(t.target)),t.target)),H=({label:t,children:n,hint:s})=>e("label",{class:"field"},e("span",{class:"label"},t),n,s&&e("span",{class:"hint"},s)),Se=({label:t,set:n,...s})=>e("label",{class:"check"},e("input",{type:"checkbox",onChange:e=>n(e.target.checked),...s})," ",t);function k({label:t,hidden:n,of:o,say:i=e=>s(e,48),none:a,set:r,...c}){let l=e("select",{title:n&&t,onChange:r&&K(r),...c},a&&e("option",{value:""},a),o.map(t=>e("option",{key:t,value:t},i(t))));return n?e("label",{class:"choice"},e("span",{class:"hidden"},t),l):e(H,{label:t},l)}function C(){let[t,e]=i(!1);return[t,async t=>{e(!0);try{return await t()}finally{e(!1)}}]}function je({since:t,now:n}){let s=n-Date.parse(t);return Number.isFinite(s)?e("span",{class:"num",title:se(t)},A(s)):null}function Nt({board:t,row:s,now:o}){let i=dt(t,s),a=["work","tool","waits","asks"].includes(i.kind);return e("span",{class:`state ${i.kind}`,title:n(i.word)},e(j,{is:i.mark})," ",e("span",{class:"word"},i.word),a&&[" ",e(je,{since:i.since,now:o})])}let Lt=({state:t})=>e("span",{class:`state s-${t||"unknown"}`},e(j,{is:_s[t]||"?"})," ",e("span",{class:"word"},u("session",t||"unknown")));function Pe(){let[n,s]=i(!1);return l(()=>{let e=setTimeout(()=>s(!0),200);return()=>clearTimeout(e)},[]),e("div",{class:"skeleton",role:"status"},e("span",{class:"hidden"},t("loading")),n&&[0,1,2,3].map(t=>e("div",{class:"bar",key:t})))}function T({problem:s,retry:o}){let i=s?.kind||"internal_error",a=i==="network"&&!s.message?t("error.away"):n(s?.message||String(s));return e("div",{class:"problem",role:"alert"},e(j,{is:"✗"}),e("div",null,e("p",null,e("strong",{class:"code"},n(i))," ",a),o&&e("button",{onClick:o},t("retry"))))}let q=({of:t,retry:n})=>e("div",{class:"pad"},t.status==="loading"?e(Pe,null):e(T,{problem:t.problem,retry:n}));function It({text:n,lines:s=3,tail:o=!0,label:a}){let[c,d]=i(!1),r=n.replace(/\n+$/,"").split(`
`),l=r.length<=s+1&&n.length<2e3,u=(o?r.slice(-s):r.slice(0,s)).map(e=>e.length>400?`${e.slice(0,400)}…`:e);return e("div",null,e(X,{label:a},(c||l?r:u).join(`
`)),!l&&e("button",{class:"link","aria-expanded":c,onClick:()=>d(!c)},c?t("fold"):t("showAll",{n:r.length})))}function Bt(e){let t=[...e.currentTarget.querySelectorAll("[data-stop]:not(:disabled)")],n=t.indexOf(e.target.closest("[data-stop]")),s={ArrowDown:n+1,ArrowUp:n-1,Home:0,End:t.length-1}[e.key];if(s===0[0])return;e.preventDefault();let o=t[Math.min(Math.max(s,0),t.length-1)];for(let e of t)e.tabIndex=e===o?0:-1;o?.focus()}let ks={sessions:"M2 4h12M2 8h12M2 12h8",inbox:"M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",settings:"M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4"},$t=({size:t,path:n})=>e("svg",{width:t,height:t,viewBox:`0 0 ${t} ${t}`,"aria-hidden":"true"},e("path",{d:n})),Wt=e=>e?"page":0[0];function ws({state:o,act:i}){let{room:r,route:l,inbox:d}=o,a=r?.status==="ready"&&r.board;return e("header",{class:"topbar"},e("a",{class:"brand",href:"#/sessions","aria-label":t("nav.sessions")},e($t,{size:20,path:"M3 5h9M6 10h11M3 15h6"})),a&&e("div",{class:"where"},e("h1",{class:"clip",title:n(a.name)},e("bdi",null,s(a.name||r.id,32))),e(Lt,{state:a.state})),r?e("nav",{class:"tabs","aria-label":t("nav.session")},["team","conversation","changes"].map(n=>e("a",{key:n,href:`#/s/${r.id}/${n}`,"aria-current":Wt(l.tab===n)},t(`nav.${n}`)))):e("h1",{class:"clip"},t(`nav.${l.screen}`)),e("span",{class:"grow"}),a&&[e(k,{label:t("mode.label"),hidden:!0,of:[...new Set([a.mode,...ft])].filter(Boolean),say:e=>u("mode",e),value:a.mode,set:e=>i.changeMode(e)}),e(no,{board:a})],(a.state==="running"||a.state==="waiting")&&e("button",{class:"stop",onClick:()=>i.interrupt("")},t("stop")),e("nav",{class:"global","aria-label":t("nav.label")},Object.entries(ks).map(([n,s])=>{let o=n==="inbox"&&d.items.length;return e("a",{key:n,class:o?"has-mail":"",href:`#/${n}`,"aria-current":Wt(l.screen===n)},e($t,{size:16,path:s}),e("span",{class:"label"},t(`nav.${n}`)),o>0&&e("span",{class:"pill num","aria-label":t("inbox.count",{n:o})},c(o)))})))}function no({board:n}){let{limit_usd:s,spent_usd:o=0}=n.budget||{};if(!s)return e("span",{class:"budget num",title:t(n.unpriced?"cost.unknown":"cost.whole")},Ye(n));let i=t("budget",{spent:g(o||0),limit:g(s)});return e("span",{class:`budget num${o>=.8*s?" near":""}`,title:i},e("progress",{max:"1",value:Math.min(1,o/s),"aria-label":i}),g(o||0)," ",e("span",{class:"muted"},"/ ",g(s)))}function to({room:n,inbox:s,now:o}){if(n?.connection==="ended")return e("div",{class:"bar",role:"status"},t("conn.ended"));let i=[n,s].find(e=>e?.connection==="lost");return i?e("div",{class:"bar lost",role:"status"},t("conn.lost",{span:A(o-i.lostSince)})):null}let vs=({items:t,dismiss:s})=>e("div",{class:"toasts",role:"status","aria-live":"polite"},t.map(t=>e("div",{class:`toast ${t.kind}`,key:t.id},e("span",null,e("strong",{class:"code"},n(t.title))," ",n(t.words)),e(be,{act:()=>s(t.id)})))),fs={"?":"keys.help",t:"nav.team",c:"nav.conversation",d:"nav.changes",i:"nav.inbox",s:"nav.sessions","/":"keys.find",m:"keys.compose","Shift X":"keys.stop","← →":"keys.pan","+ −":"keys.zoom","↑ ↓":"keys.rows",Esc:"keys.close"};function ls({close:n}){let s=h(null);return l(()=>s.current.showModal(),[]),e("dialog",{class:"help",ref:s,onClose:n,"aria-labelledby":"help-title"},e("header",{class:"row"},e("h2",{id:"help-title",class:"grow"},t("help")),e(be,{act:()=>s.current.close()})),e(Y,{rows:Object.entries(fs).map(([n,s])=>[e("kbd",null,n),t(s)])}))}let Qt=12,Re=3e3,Qn=25e4;function Ne(e){let t=[],n=0,s=0,o=0,i=0,a="";for(let r of e.replace(/\n$/,"").split(`
`)){let[c]=r,l=/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(r);if(l)[n,o,s,i]=l.slice(1).map(e=>Number(e??1)),t.push({kind:"hunk",text:r});else if(c==="\\"||c==="[")t.push({kind:"hunk",text:r});else if(o<=0&&i<=0)/^(---|\+\+\+) [^/]/.test(r)&&(a=r.slice(6)),r.startsWith("+++")&&t.push({kind:"file",text:a});else{let e={kind:c==="+"?"add":c==="-"?"del":"same",text:r.slice(1)};c!=="+"&&([e.old,n,o]=[n,n+1,o-1]),c!=="-"&&([e.new,s,i]=[s,s+1,i-1]),t.push(e)}}return t}function tn(e,t){let[n,s]=[e,t].map(e=>e===""?[]:e.replace(/\n$/,"").split(`
`)),r=(e,t)=>t.map(t=>({kind:e,text:t}));if(n.length*s.length>Qn)return[...r("del",n),...r("add",s)];let a=Array.from({length:n.length+1},()=>new Uint16Array(s.length+1));for(let e=n.length-1;e>=0;e-=1)for(let t=s.length-1;t>=0;t-=1)a[e][t]=n[e]===s[t]?a[e+1][t+1]+1:Math.max(a[e+1][t],a[e][t+1]);let c=[],o=0,i=0;for(;o<n.length&&i<s.length;)n[o]===s[i]?(c.push({kind:"same",text:n[o++]}),i+=1):a[o+1][i]>=a[o][i+1]?c.push({kind:"del",text:n[o++]}):c.push({kind:"add",text:s[i++]});return[...c,...r("del",n.slice(o)),...r("add",s.slice(i))]}let qn=e=>({added:e.filter(e=>e.kind==="add").length,removed:e.filter(e=>e.kind==="del").length}),sn=e=>e.filter(e=>e.kind==="file").length,Te={add:["+","diff.added"],del:["−","diff.removed"]};function ne({rows:n,all:s=!1}){let[a,c]=i(s),l=sn(n)>1,o=n.filter(e=>l||e.kind!=="file"),d=o.some(e=>e.old||e.new),r=t=>d&&e("td",{class:"ln","aria-hidden":"true"},t||"");return e("div",{class:"diff-box"},e("div",{class:"diff",tabindex:"0",role:"group","aria-label":t("diff")},e("table",null,e("tbody",null,o.slice(0,a?Re:Qt).map(({kind:n,...s},o)=>e("tr",{class:n,key:o},r(s.old),r(s.new),e("td",{class:"sign"},Te[n]?.[0],Te[n]&&e("span",{class:"hidden"},t(Te[n][1])," ")),e("td",null,oe(s.text))))))),o.length>Qt&&!a&&e("button",{class:"link",onClick:()=>c(!0)},t("showAll",{n:o.length})),a&&o.length>Re&&e("p",{class:"strong"},t("diff.hidden",{n:o.length-Re})))}let rn={agent:"agent",turn:"turn",call:"call_id"},E=e=>`${e.call_id}/${e.path}`,ln=e=>t("changes.files",{n:new Set(e.map(e=>e.path)).size}),dn=(e,n)=>e==="user"?t("you"):s(e,n);function Ln({room:o,act:a,params:{agent:c,call:d}}){let[_,N]=i({status:"loading",items:[]}),[g,D]=i(d?"call":"agent"),[R,I]=i(""),[A,T]=i(null),[b,v]=i(null),[j,H]=i(null),[F,z]=C(),w=`/sessions/${o.id}`,O=h(0),k=()=>{O.current+=1;let t=O.current,e=e=>{t===O.current&&N(e)};return p(`${w}/changes`).then(({items:t})=>e({status:"ready",items:t}),t=>e({status:"error",items:[],problem:t}))};l(()=>{k()},[o,o.board.counts.file_changes]);let{items:f}=_;if(_.status!=="ready")return e(q,{of:_,retry:k});if(!f.length)return e(x,{words:t("changes.empty")},e("a",{class:"button",href:`#/s/${o.id}/conversation`},t("nav.conversation")));let m=f.filter(e=>!e.undone&&(A?A.has(E(e)):e.call_id===d||e.agent===c)),u=f.find(e=>E(e)===R)||m[m.length-1]||f[f.length-1],L=[...Map.groupBy(f,e=>e[rn[g]])],y=(e,{path:n})=>g==="agent"?dn(e,28):g==="turn"?t("changes.turn",{n:e}):`${s(n.split("/").pop(),20)} · ${s(e,10)}`,P=(e,t)=>{let n=new Set(m.map(E));for(let s of e)n[t?"add":"delete"](E(s));T(n),v(null)},M=(t,n,s)=>{let o=t.filter(e=>!e.undone),i=o.filter(e=>m.includes(e)).length;return e("input",{type:"checkbox","data-stop":!0,tabindex:s?0:-1,"aria-label":n,disabled:!o.length,checked:i>0&&i===o.length,indeterminate:i>0&&i<o.length,onChange:({target:e})=>P(o,e.checked)})},S=e=>()=>z(()=>a.attempt(e)),V=S(async()=>v(await r(`${w}/undo/plan`,{selection:{files:m.map(e=>({call:e.call_id,path:e.path}))}}))),$=S(async()=>{H(await r(`${w}/undo`,{plan_id:b.plan_id})),v(null),T(new Set),await k()}),W=o=>{let i=b?.conflicts.find(e=>e.path===o.path&&m.includes(o)),a=o.undone?t("changes.undone"):o.undoes.length?t("changes.undo"):"";return e("li",{class:`change${o===u?" on":""}`,key:E(o)},M([o],n(o.path)),e("button",{class:"grow","data-stop":!0,tabindex:"-1","aria-pressed":o===u,onClick:()=>{I(E(o)),v(null)}},e("span",{class:"code grow clip",title:n(o.path)},s(o.path,24)),a&&e("span",{class:"muted"},a),e(jt,{...o}),i&&e("span",{class:"warn",title:n(i.reason)},"⚠")))};return e("div",{class:"changes"},e("section",{class:"changes-list","aria-label":t("nav.changes")},e("div",{class:"segmented",role:"group","aria-label":t("by")},Object.keys(rn).map(n=>e("button",{key:n,"aria-pressed":g===n,onClick:()=>D(n)},t(`by.${n}`)))),e("div",{class:"row"},e("button",{disabled:F||!m.length,onClick:V},t("undo.look")),e("span",{class:"muted grow"},m.length?ln(m):t("undo.tick"))),e("div",{onKeyDown:Bt},L.map(([t,n],s)=>e("section",{key:t,"aria-label":y(t,n[0])},e("h2",{class:"change"},M(n,y(t,n[0]),s===0),g==="agent"&&e(B,{board:o.board,id:o.board.agents.find(e=>e.name===t)?.id||"user"}),e("bdi",{class:"grow"},y(t,n[0])),e("span",{class:"muted num"},ln(n))),e("ul",{class:"plain"},n.map(W)))))),e("section",{class:"changes-diff","aria-label":n(u.path)},j&&e("p",{class:"box ok",role:"status"},t("undo.done",{n:j.files.length})," ",e("a",{class:"code",href:`#/s/${o.id}/changes?call=${j.call_id}`},s(j.call_id,12))),b?e(Nn,{plan:b,busy:F,take:$,leave:()=>v(null)}):[e("header",{class:"row"},e("h2",{class:"code grow clip",title:n(u.path)},s(u.path,60)),e("span",{class:"muted"},dn(u.agent,24)," · ",t("changes.turn",{n:u.turn})," · ",e("span",{class:"code"},s(u.call_id,12)))),u.diff?e(ne,{key:E(u),rows:Ne(u.diff),all:!0}):e("p",{class:"muted"},t("changes.lost"))]))}function Nn({plan:s,busy:o,take:i,leave:a}){let r=Ne(s.diff);return e("section",{class:"undo","aria-label":t("undo.plan")},e("div",{class:"row"},e("h3",{class:"grow"},t("undo.plan")),e("button",{onClick:a},t("cancel")),e("button",{class:"primary",disabled:o||!s.diff,onClick:i},t("undo.take",{n:sn(r)||1}))),s.conflicts.length>0&&e("ul",{class:"plain warn"},s.conflicts.map(t=>e("li",{key:t.path},"⚠ ",e("span",{class:"code"},n(t.path))," ",n(t.reason)))),s.diff?e(ne,{rows:r}):e("p",{class:"muted"},t("undo.none")),s.commands.length>0&&e(_,{title:t("undo.commands",{n:s.commands.length})},e("ul",{class:"plain"},s.commands.map((t,s)=>e("li",{class:"code",key:s},n(t))))))}let Dn=2e4,zn=new Set(`and as assert async await break case catch class const continue def default defer del do elif else end enum except export extends
 False final finally fn for from func function go if impl import in interface is let lambda match mod mut new nil None nonlocal not null or package pass private
 protected public raise return self static struct super switch then this throw trait True true false try type typeof undefined use var void where while with yield`.split(/\s+/)),Fn=/^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|conf|ini|console|)$/i,Mn={"+":"add","-":"del","@":"num"},Sn=["com","str","num"];function An(e,t){if(e.length>Dn||/^(text|txt|plain|output|log)$/i.test(t))return[["",e]];if(/^(diff|patch)$/i.test(t))return e.split(/(?<=\n)/).map(e=>[Mn[e[0]]||"",e]);let o=Fn.test(t)?`#[^\\n]*`:`//[^\\n]*|/\\*[^]*?(?:\\*/|$)`,i=new RegExp(`(${o})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)|(\\b\\d[\\w.]*)|[A-Za-z_$][\\w$]*`,"g"),s=[],n=0;for(let t of e.matchAll(i)){let o=Sn[t.slice(1).findIndex(e=>e!==0[0])]||zn.has(t[0])&&"kw";if(!o)continue;s.push(["",e.slice(n,t.index)],[o,t[0]]),n=t.index+t[0].length}return[...s,["",e.slice(n)]]}let Cn=globalThis.requestIdleCallback||(e=>setTimeout(e,50));function js({code:s,language:o=""}){let[c,d]=i(null),a=h(null),r=n(s);return l(()=>{d(null);let e=new IntersectionObserver(t=>{if(!t.some(e=>e.isIntersecting))return;e.disconnect(),Cn(()=>a.current&&d(An(r,o)))});return e.observe(a.current),()=>e.disconnect()},[r,o]),e("pre",{class:"code-block",ref:a,tabindex:"0","aria-label":o?t("code.of",{language:o}):t("code")},e("code",null,c?c.map(([t,n],s)=>t?e("span",{class:`hl-${t}`,key:s},n):n):r))}let ys=1e4,_n=5;function yn(e,t=0){let r=[],n=[],s="",i=t,a=t,o=()=>{n.length&&r.push({text:n.join(`
`),at:i}),n=[]};for(let r of e.slice(t).split(`
`)){n.length||(i=a),a+=r.length+1;let c=/^ {0,3}(`{3,}|~{3,})/.exec(r);s?(n.push(r),c&&c[1].startsWith(s)&&r.trim()===c[1]&&(s="",o())):c?(o(),i=a-r.length-1,s=c[1],n.push(r)):r.trim()?n.push(r):o()}return o(),r}function xn(e){let t=e.trim();if(!/^(https?:\/\/|mailto:)/i.test(t)||n(t)!==t)return"";try{let{protocol:e}=new URL(t);return["http:","https:","mailto:"].includes(e)?t:""}catch{return""}}let jn=(t,s)=>{let o=xn(t);return o?e("a",{href:o,target:"_blank",rel:"noopener noreferrer nofollow",title:n(o)},s):e("span",null,s," ",e("span",{class:"muted"},"(",n(t),")"))},En={"**":"strong",__:"strong","~~":"del","*":"em",_:"em"},kn=/(`+)|(\*\*|__|~~|[*_])|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|https?:\/\/[^\s<>()[\]{}"'`*]{1,1000}|\\([\\`*_{}[\]()#+\-.!~|>])/g;function w(s,o=0){if(o>_n||s.length>ys)return[n(s)];let i=[],a=new RegExp(kn.source,"g"),r=0,c=new Set,l=e=>{e>r&&i.push(n(s.slice(r,e)))};for(let h=a.exec(s);h;h=a.exec(s)){let[g,f,v,y,b,p,j]=h,u=h.index,m=u+g.length,d=null;if(f||v){let t=f||v,r=u+t.length,a=c.has(t)?-1:s.indexOf(t,r);a<0&&c.add(t);let i=a>r?s.slice(r,a):"",l=t[0]==="_"&&(/\w/.test(s[u-1]||"")||/\w/.test(s[a+t.length]||""));i&&f?d=e("code",null,n(i.trim()||i)):i&&!l&&!/^\s|\s$/.test(i)&&(d=e(En[t],null,w(i,o+1))),d&&(m=a+t.length)}else if(j)d=j;else if(p)d=jn(p,y?t("md.image",{alt:n(b)}):w(b||p,o+2));else{let e=g.replace(/[.,;:!?]+$/,"");d=jn(e,n(e)),m=u+e.length}if(a.lastIndex=m,!d)continue;l(u),i.push(d),r=m}return l(s.length),i}let vn=/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;function $e(t){let n=[];for(let s of t){let e=vn.exec(s);e?n.push({depth:Math.min(4,Math.floor(e[1].replace(/\t/g,"  ").length/2)),ordered:/\d/.test(e[2]),number:parseInt(e[2],10),words:[e[3]]}):n.length&&n[n.length-1].words.push(s.trim())}let s=(t,o)=>{let a=[],i=t;for(;i<n.length&&n[i].depth>=o;){let t=n[i],[r,c]=i+1<n.length&&n[i+1].depth>t.depth?s(i+1,n[i+1].depth):[null,i+1],o=/^\[([ xX])\]\s+(.*)$/.exec(t.words[0]),l=(o?[`${o[1]===" "?"☐":"☑"} ${o[2]}`,...t.words.slice(1)]:t.words).join(`
`);a.push(e("li",null,w(l),r)),i=c}let r=n[t];return[r.ordered?e("ol",{start:r.number},a):e("ul",null,a),i]},o=[];for(let e=0;e<n.length;){let[t,i]=s(e,n[e].depth);o.push(t),e=i}return o}let pn=e=>e.trim().replace(/^\||\|$/g,"").split("|").slice(0,40).map(e=>e.trim());function Tn(n){let s=pn(n[0]);return e("div",{class:"table-box",tabindex:"0",role:"region","aria-label":t("md.table")},e("table",null,e("thead",null,e("tr",null,s.map(t=>e("th",{scope:"col"},w(t))))),e("tbody",null,n.slice(2,500).map(t=>e("tr",null,pn(t).map(t=>e("td",null,w(t))))))))}function _e(t,n=0){let s=t.split(`
`),i=/^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/.exec(s[0]);if(i){let t=s.length>1&&s[s.length-1].trim().startsWith(i[1]);return e(js,{code:s.slice(1,t?-1:0[0]).join(`
`),language:i[2]})}let a=/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(s[0]);if(a)return[e("p",null,e("strong",null,w(a[2]))),s.length>1&&_e(s.slice(1).join(`
`),n)];if(/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(s[0]))return e("hr",null);if(s[0].startsWith(">")&&n<_n)return e("blockquote",null,_e(s.map(e=>e.replace(/^>\s?/,"")).join(`
`),n+1));if(s.length>1&&s[0].includes("|")&&/^[\s|:-]+$/.test(s[1])&&s[1].includes("-"))return Tn(s);let o=s.findIndex(e=>vn.test(e));return o===0?$e(s):o>0&&o<s.length?[e("p",null,w(s.slice(0,o).join(`
`))),$e(s.slice(o))]:e("p",null,w(t))}class mn extends Be{shouldComponentUpdate({text:e}){return e!==this.props.text}render({text:t}){return e("div",{class:"md"},_e(t))}}class pe extends mn{render({text:t}){let{before:o,blocks:n}=this,s=n?.length&&t.startsWith(o)?n[n.length-1].at:0;return this.blocks=s?[...n.slice(0,-1),...yn(t,s)]:yn(t),this.before=t,e("div",{class:"md"},this.blocks.map((t,n)=>e(mn,{key:n,text:t.text})))}}let un=100,R=80,cn=320,Hn=60,an=64,ve={from:null,to:null},on=new Set(["ask_agent","delegate_task","send_response"]),$n=new Set(["read","glob","grep","list_dir","load_skill","list_skills","list_team","list_models"]);function Wn({room:n,act:s,seq:o=null,agent:a="",words:r,facts:c}){let[d,m]=i(a),[f,v]=i(""),[b,p]=i(a);if(l(()=>{a&&(m(a),p(a))},[a]),n.status!=="ready")return e(q,{of:n,retry:()=>s.reopen()});let{board:u}=n,h=u.agents.filter(e=>e.status!=="ended"),g=(t,n)=>e("button",{class:"chip",key:t,"aria-pressed":d===t,onClick:()=>m(d===t?"":t)},n);return e("div",{class:"conversation"},e("div",{class:"filters"},e("div",{class:"chips",role:"group","aria-label":t("conv.filter")},g("",t("conv.all")),u.agents.filter(e=>h.includes(e)||d===e.id).map(t=>g(t.id,e(ie,{board:u,id:t.id,length:18})))),e("input",{id:"find",type:"search",value:f,placeholder:t("conv.find"),"aria-label":t("conv.find"),onInput:K(v)})),e(nn,{room:n,board:u,facts:c,words:r,only:d,find:f,seq:o,act:s}),s&&e(Un,{busy:h.some(S),agents:h,to:b,choose:p,send:(e,t)=>s.prompt(e,t)}))}function Un({busy:n,agents:o,to:a,choose:r,send:c}){let[d,p]=i(""),[g,v]=C(),l=h(null),u=g||!d.trim(),m=n&&!a,f=async e=>{if(u)return;let t=await v(()=>c(d,{...a&&{agent:a},...m&&!e&&{steer:!0}}));t||(p(""),l.current&&(l.current.style.height="")),l.current?.focus()},b=e=>{if(e.key==="Escape"&&e.currentTarget.blur(),e.key!=="Enter"||e.shiftKey||e.isComposing)return;e.preventDefault(),f(e.ctrlKey||e.metaKey)},j=({target:e})=>{p(e.value),e.style.height="auto",e.style.height=`${Math.min(e.scrollHeight+2,200)}px`};return e("form",{class:"composer",onSubmit:N(()=>f(!1))},e("textarea",{id:"composer",ref:l,rows:"1",value:d,onInput:j,onKeyDown:b,"aria-label":t("say.label"),title:t("say.hint"),placeholder:t(n?"say.busy":"say.idle")}),e(k,{label:t("say.to"),hidden:!0,none:t("say.team"),of:o.map(e=>e.id),say:e=>s(o.find(t=>t.id===e).name,24),value:a,set:r}),m&&e("button",{type:"button",disabled:u,onClick:()=>f(!0)},t("say.queue")),e("button",{class:"primary",disabled:u},t(m?"say.steer":"say.send")))}function Kn(e,t,n,s){let{kind:o}=e;return o!=="turn"&&!(o==="end"&&e.status==="completed"&&(e.agent!==s||n||t))&&!(t&&e.agent!==t&&e.from!==t&&e.to!==t)&&(n?[e.text,e.name,e.subject,e.end?.output].join(`
`).toLowerCase().includes(n):!e.repeated&&!(o==="call"&&on.has(e.name)&&e.end?.ok))}function nn({room:s,board:o,facts:a,words:r,only:c="",find:d="",seq:m=null,act:f,blocks:p=s.blocks}){let[v,w]=i({...ve}),_=d.trim().toLowerCase(),F=o.agents[0]?.id,g=W(()=>p.filter(e=>Kn(e,c,_,F)),[a,c,_,p]),j=h(null),C=h(!0),O=h(null),E=h(0),S=e=>({from:Math.max(0,Math.min(e,g.length)-un-R),to:e>=g.length?null:e});if(E.current){let e=g.findIndex(e=>e.seq===E.current);E.current=0,Object.assign(v,S(e+1))}let y=v.to===null?g.length:Math.min(v.to,g.length),k=Math.max(0,v.from===null?y-un:Math.min(v.from,y)),b=h(null),T=g.reduce((e,t)=>t.kind==="prompt"?t.seq:e,0);l(()=>{b.current===null&&(w({...ve}),C.current=!0)},[c,_,s,T]),l(()=>{if(m===null)return;b.current=m,C.current=!1,m<s.first&&s.loadOlder(m)},[m,s]),rt(()=>{let{current:e}=j,t=t=>e.querySelector(`[data-seq="${t}"]`);if(b.current!==null&&b.current>=s.first){let n=g.findIndex(e=>e.seq>=b.current),s=t(g[n]?.seq);s?(b.current=null,e.scrollTop+=s.getBoundingClientRect().top-e.getBoundingClientRect().top-e.clientHeight/3,s.classList.add("found"),s.querySelector("a,button,[tabindex]")?.focus({preventScroll:!0})):n>=0?w({from:Math.max(0,n-R),to:n+R}):b.current=null;return}if(O.current){let n=t(O.current.seq);n&&(e.scrollTop+=n.getBoundingClientRect().top-O.current.top),O.current=null}else C.current&&v.to===null&&(e.scrollTop=e.scrollHeight)});let A=()=>{let t=j.current.getBoundingClientRect().top,e=[...j.current.querySelectorAll("[data-seq]")].find(e=>e.getBoundingClientRect().bottom>t);O.current=e?{seq:e.dataset.seq,top:e.getBoundingClientRect().top}:null},z=()=>{let{current:e}=j,t=e.scrollHeight-e.scrollTop-e.clientHeight;if(C.current=t<Hn&&v.to===null,e.scrollTop<200){if(k>0){A();let e=Math.max(0,k-R);w({from:e,to:y-e>cn?e+cn:v.to})}else if(s.first>1&&!s.older&&!s.offline){let e=g[y-1]?.seq;s.loadOlder().then(()=>{A(),E.current=e})}}else t<200&&v.to!==null&&(A(),w(S(y+R)))},M=v.to===null&&!_?[...s.live].filter(([e,t])=>(!c||c===e)&&(t.text||t.thinking||t.note)):[],D=()=>{C.current=!0,w({...ve}),j.current.scrollTop=j.current.scrollHeight};return e("div",{class:"thread-box"},e("div",{class:"thread",ref:j,onScroll:z,tabindex:"0",role:"log","aria-live":"off","aria-label":t("nav.conversation")},(s.older||k===0&&s.first<=1)&&e("p",{class:"muted center"},t(s.older?"conv.older":"conv.begin")),g.slice(k,y).map(t=>e(Yn,{key:t.seq,block:t,board:o,size:o.agents.length,act:f,room:s,live:t.kind==="call"&&!t.end&&s.live.get(t.agent)?.output.get(t.id)||""})),!M.length&&!g.some(e=>e.kind!=="note")&&e(x,{words:t(_||c?"conv.none":"conv.empty")},!f&&!s.offline&&!_&&!c&&e("a",{class:"button",href:`#/s/${s.id}/conversation`},t("nav.conversation"))),M.map(([t,s])=>e(ae,{key:t,board:o,id:t,kind:"said live"},s.note&&e("p",{class:"muted"},u("live",n(s.note))),s.thinking&&!s.text&&e("p",{class:"thinking"},n(s.thinking.slice(-400))),s.text&&e(pe,{text:s.text})))),v.to!==null&&e("button",{class:"to-end",onClick:D},t("conv.toEnd")))}class Yn extends Be{shouldComponentUpdate(e){return["block","live","size","act"].some(t=>e[t]!==this.props[t])}render(t){let n={prompt:Zn,told:Jn,mail:es,said:ts,call:ss,end:os,note:is}[t.block.kind];return e(n,{...t})}}let G=({block:t,kind:n,children:s})=>e("article",{class:`block ${n}${t.gone?" gone":""}`,"data-seq":t.seq},s),ae=({block:t={},board:n,id:s,kind:o,head:i,acts:a,children:r})=>e(G,{block:t,kind:o},e(B,{board:n,id:s}),e("div",{class:"block-body"},e("header",{class:"block-head"},e(z,{board:n,id:s}),i,t.ts&&e(yt,{ts:t.ts}),a),r)),Jt=({block:t,mark:n="·",bad:s,children:o})=>e(G,{block:t,kind:s?"note bad":"note"},e(j,{is:n}),e("span",null,o," ",e(yt,{ts:t.ts})));function Zn({block:s,board:o,act:a,room:r}){let[c,l]=i(!1),[d,m]=i(s.text),u=o.agents[0]?.id!==s.to,h=async e=>{await a.goOnFrom(s.seq,e)||l(!1)},f=a&&!s.gone&&e("span",{class:"block-acts"},e("button",{class:"link",onClick:()=>a.fork(r.id,s.seq)},t("fork")),!u&&e("button",{class:"link","aria-expanded":c,onClick:()=>l(!c)},t("conv.edit")));return e(ae,{block:s,board:o,id:"user",kind:"prompt",acts:f,head:u&&[e("span",{class:"muted","aria-hidden":"true"},"→"),e(z,{board:o,id:s.to})]},c?e("form",{class:"edit",onSubmit:N(()=>h(d))},e("textarea",{rows:"4","aria-label":t("conv.edit"),value:d,onInput:K(m)}),e("p",{class:"muted"},t("conv.forget")),e("div",{class:"row end"},e("button",{type:"button",onClick:()=>l(!1)},t("cancel")),e("button",{type:"button",onClick:()=>h("")},t("conv.rewind")),e("button",{class:"primary",disabled:!d.trim()},t("conv.goOn")))):e("div",{class:"prose pre"},n(s.text)),s.images>0&&e("p",{class:"muted"},t("conv.images",{n:s.images})))}let Jn=({block:n,board:o})=>e(Jt,{block:n},t("note.told",{name:s(v(o,n.to),30)})," ",s(n.text,400));function es({block:t,board:n}){let o=e(pe,{text:t.text});return e(ae,{block:t,board:n,id:t.from,kind:"mail",head:[e("span",{class:`mail-kind ${t.mail}`},u("mail",t.mail)," ",e("span",{"aria-hidden":"true"},"→")),e(ie,{board:n,id:t.to})]},t.text.length>600?e(_,{title:s(t.text,200)},o):o)}let ts=({block:s,board:o})=>e(ae,{block:s,board:o,id:s.agent,kind:"said"},s.thinking&&e(_,{title:t("conv.thinking")},e("div",{class:"thinking pre"},n(s.thinking))),s.text&&e(pe,{text:s.text}));function ns({name:e,args:t}){let{old_string:n,new_string:s,content:o}=Object(t);return e==="edit"&&typeof n=="string"&&typeof s=="string"?tn(n,s):e==="write"&&typeof o=="string"?tn("",o):null}function ss({block:o,board:i,act:a,live:r}){let{end:c,asked:l,name:d,subject:m}=o,h=W(()=>ns(o),[o.args]),[g,v,b]=c?c.ok?["ok","✓",t("step.completed")]:["error","✗",t("state.failed")]:["","●",t("call.runs")],f=oe(c?c.output:r),y=c?.ok&&(h||on.has(d)||d==="update_plan"),w=[c?.ms>=100&&ze(c.ms),Boolean(c?.exit)&&t("call.exit",{code:c.exit}),c?.error,l?.decision&&`${u("decision",l.decision)}${l.scope?` (${u("scope",l.scope)})`:""}`].filter(Boolean),p=t("call.output");return e(G,{block:o,kind:c&&!c.ok?"call bad":"call"},e("div",{class:"block-body"},e("header",{class:"call-head"},e("span",{class:`mark ${g}`},e("span",{"aria-hidden":"true"},v),e("span",{class:"hidden"},b)),e(z,{board:i,id:o.agent,length:18})," ",e("span",{class:"code strong"},s(d,40))," ",e("span",{class:"code",title:n(m)},s(m,an)),h&&e(jt,{...qn(h)}),w.map(t=>e("span",{class:"muted num",key:t},n(t))),l&&!l.decision&&!c&&[e("span",{class:"state asks"},e(j,{is:"▲"})," ",t("state.asks")),a&&e(fe,null)]),h&&e(_,{title:t("diff")},e(ne,{rows:h})),d==="bash"&&m.length>an&&e(_,{title:t("call.command")},e(X,null,n(o.args?.command))),f&&!y&&(c?.ok&&$n.has(d)?e(_,{title:t("card.output")},e(It,{text:f,lines:12,tail:!1,label:p})):e(It,{text:f,label:p})),c?.notice&&e("p",{class:"muted"},n(c.notice))))}function os({block:n,board:o}){let{began:i,status:a}=n,r=a!=="completed",c=[r&&`✗ ${s(v(o,n.agent),24)}`,u("turn",a)];return i&&c.push(t("conv.steps",{n:i.steps}),t("tokens",{n:$(i.tokens)}),i.cost!==null&&g(i.cost),ze(Date.parse(n.ts)-Date.parse(i.ts))),e(G,{block:n,kind:r?"turn-end bad":"turn-end"},e("span",{class:"num"},c.filter(Boolean).join(" · ")))}function is({block:n,board:o}){let{data:i,type:r}=n,a=(e,t=300)=>typeof e=="string"?s(e,t):"",l=s(v(o,n.agent),30),d=e=>a(e?.id||e?.model),h={session_resumed:()=>t("note.resumed"),agent_started:()=>t("note.started",{name:a(i.agent?.name,30),model:d(i.agent?.model)}),agent_ended:()=>t("note.ended",{name:l,reason:a(i.reason)}),compacted:()=>t("note.compacted",{name:l,before:$(i.tokens_before||0),after:$(i.tokens_after||0)}),forked:()=>t("note.forked",{seq:c(i.at||0)}),rewound:()=>t("note.rewound",{seq:c(i.to||0)}),mode_changed:()=>t("note.mode",{mode:u("mode",a(i.mode))}),model_changed:()=>t("note.model",{name:l,model:d(i.model)}),renamed:()=>t("note.renamed",{name:a(i.name)}),error:()=>`${a(i.kind)}: ${a(i.message)}`,control:()=>t(i.action==="halt"?"note.halted":i.action==="destroy"?"note.destroyed":"note.interrupted",{name:s(v(o,i.target),30)}),permission_decision:()=>`${a(i.tool)}: ${u("decision",a(i.decision))}, ${a(i.reason)}`,checked:()=>t("note.checked",{status:a(i.status??String(i.ok??""))})}[r]();return e(Jt,{block:n,bad:r==="error",mark:r==="error"?"✗":"·"},h)}function rs({state:{inbox:n,now:s,sessions:o},act:i}){l(()=>{i.loadSessions("")},[]);let a=({session_id:e})=>o.items.find(t=>t.id===e)?.name||e;return e("div",{class:"page inbox"},e("h2",{class:"hidden"},t("nav.inbox")),n.ready?!n.items.length&&e(x,{words:t("inbox.empty")},e("a",{class:"button",href:"#/sessions"},t("nav.sessions"))):n.connection==="lost"?e(x,{words:t("inbox.lost")}):e(Pe,null),n.items.map(t=>e(cs,{key:t.id,one:t,now:s,act:i,session:a(t)})))}function cs({one:o,now:a,act:r,session:c}){let[p,O]=C(),[u,w]=i(null),[l,v]=i(""),[f,b]=i(!1),y=(e,t)=>O(async()=>w(await r.answer(o,e,t))),m=Date.parse(o.deadline)-a,h=f&&o.wider,g=h?{rule:h}:{},d=(t,n,s,o)=>e("button",{class:"big",disabled:p,onClick:()=>y(n,s),...o},t);return e("article",{class:"question","aria-label":t("inbox.of",{agent:n(o.agent)})},e("header",null,e(j,{is:"▲"}),e("h3",{class:"grow"},t("inbox.asks",{agent:s(o.agent,60)})),e("a",{href:`#/s/${o.session_id}/team`},e("bdi",null,s(c,20))),e("span",{class:"muted"},e(je,{since:o.asked,now:a}))),!o.text.startsWith(o.tool)&&e("p",{class:"strong code"},n(o.tool)),e(X,{label:t("inbox.call")},n(o.text)),/^@@ /m.test(o.preview)?e(ne,{rows:Ne(oe(o.preview).replace(/^[^]*?(?=^(?:---|@@) )/m,""))}):o.preview&&e(_,{title:t("inbox.shown")},e(X,null,oe(o.preview))),o.hidden_lines>0&&e("p",{class:"strong"},t("inbox.hidden",{n:o.hidden_lines})),e(Y,{rows:[[t("inbox.adds"),n(o.adds)||t("inbox.none")],[t("inbox.why"),n(o.reason)],m>0&&[t("inbox.expires"),t("inbox.in",{span:A(m)}),{class:"num"}]]}),u&&e("p",{class:"error",role:"alert"},u.kind==="writer_conflict"?t("inbox.late"):n(u.message)),e("div",{class:"answers"},d(t("deny"),!1,l?{reason:l}:{}),d(t("allowOnce"),!0,{scope:"once"},{class:"big primary"})),e(_,{class:"more-answers",title:t("inbox.more")},o.rule?[e("p",null,t("inbox.rule")," ",e("code",null,n(h||o.rule))),o.wider&&e(Se,{checked:f,set:b,label:[t("inbox.wider")," ",e("code",null,n(o.wider))]}),e("div",{class:"answers"},d(t("allowSession"),!0,{scope:"session",...g}),d(t("allowAlways"),!0,{scope:"rule",...g})),o.place&&e("p",{class:"muted"},t("inbox.place",{place:n(o.place)}))]:e("p",{class:"muted"},t("inbox.noRule")),e(H,{label:t("inbox.reason")},e("textarea",{rows:"2",value:l,maxlength:"10000",onInput:K(v)})),d(t("denyReason"),!1,{reason:l},{disabled:p||!l.trim()})))}function Xt({state:o,act:a}){let{sessions:c,now:m,notices:g}=o,[r,v]=i(""),[u,b]=i(null),[d,j]=i(!1);l(()=>{let e=!1,t=setTimeout(async()=>{a.loadSessions(r);let t=r.trim().length<2?null:await p(`/search${he({q:r.trim(),limit:30})}`).then(({items:e})=>e,()=>[]);e||b(t)},r?200:0);return()=>{e=!0,clearTimeout(t)}},[r]);let{items:h}=c,f=c.status==="ready"&&!h.length;return e("div",{class:"page"},g.map((t,s)=>e("p",{class:"box",key:s},n(t))),e("div",{class:"row"},e("input",{id:"find",type:"search",class:"grow",value:r,placeholder:t("sessions.find"),"aria-label":t("sessions.find"),onInput:K(v)}),e("button",{class:"primary","aria-expanded":d,onClick:()=>j(!d)},t("sessions.new"))),(d||f&&!r)&&e(ms,{state:o,act:a}),c.status!=="ready"&&e(q,{of:c,retry:()=>a.loadSessions(r)}),f&&(r?e(x,{words:t("sessions.none")}):!d&&e("p",{class:"muted center"},t("sessions.empty"))),h.length>0&&e("ul",{class:"list","aria-label":t("nav.sessions")},ds(h).map(([t,n,s])=>e(us,{key:t.id,one:t,depth:n,parent:s,now:m,act:a}))),c.next&&e("button",{onClick:()=>a.moreSessions(r)},t("more")),u&&e("section",{"aria-label":t("search.label")},e("h2",null,t("search.label")),u.length===0?e("p",{class:"muted"},t("search.none")):e("ul",{class:"list hits"},u.map(t=>e("li",{key:`${t.session_id}/${t.seq}`},e("a",{href:`#/s/${t.session_id}/conversation/${t.seq}`},e("span",{class:"small"},e("bdi",null,s(t.session_name,28))," · ",e("bdi",null,s(t.agent,20))," ",e("span",{class:"muted num"},Je(t.ts,m))),e("span",null,s(t.excerpt,240))))))))}function ds(e){let t=new Map(e.map(e=>[e.id,e])),o=Map.groupBy(e,e=>e.parent),n=new Map,s=(e,i)=>{if(n.has(e.id))return;n.set(e.id,[e,i,t.get(e.parent)]);for(let t of o.get(e.id)||[])s(t,i+1)};for(let o of e){let n=o;for(let s=e.length;s>0&&t.has(n.parent);s-=1)n=t.get(n.parent);s(n,0)}return[...n.values()]}function us({one:o,depth:a,parent:r,now:c,act:l}){let[d,u]=i(!1);return e("li",{class:`session-row fork-${Math.min(a,4)}`},e("a",{class:"session-main",href:`#/s/${o.id}/team`},e("span",{class:"row"},e("bdi",{class:"strong grow",title:n(o.name)},s(o.name,36))," ",e(Lt,{state:o.state})),e("span",{class:"clip"},s(o.first_prompt,160)||e("span",{class:"muted"},t("sessions.blank"))),e("span",{class:"session-facts muted"},o.parent&&e("span",null,"↳ ",t("sessions.fork",{name:s(r?.name||o.parent,28),seq:o.forked_at})),o.team&&e("span",null,s(o.team.split("/").pop(),24)),e("span",{class:"code"},s(o.model,28)),e("span",{class:"num"},o.cost_usd===null?t("cost.unknown"):g(o.cost_usd)),e("time",{class:"num",datetime:n(o.updated),title:se(o.updated)},Je(o.updated,c)),o.holder&&e("span",{title:t("sessions.where",{host:n(o.holder.host),pid:o.holder.pid})},t("sessions.held")))),e("button",{class:"icon","aria-expanded":d,"aria-label":t("sessions.acts",{name:n(o.name)}),onClick:()=>u(!d)},"⋯"),d&&e(hs,{one:o,act:l,done:()=>u(!1)}))}function hs({one:n,act:s,done:o}){let[r,c]=i(!1),a=e=>async t=>{await e(t),o()};return e("div",{class:"row-acts"},e("form",{class:"row",onSubmit:N(a(({name:e})=>s.rename(n.id,e)))},e("input",{name:"name",class:"grow","aria-label":t("sessions.rename"),defaultValue:n.name,maxlength:"100"}),e("button",null,t("sessions.rename"))),e("div",{class:"row"},e("button",{onClick:()=>s.fork(n.id)},t("fork")),n.parent&&e("a",{class:"button",href:`#/s/${n.parent}/conversation/${n.forked_at}`},t("sessions.origin")),["md","html","ndjson"].map(s=>e("a",{class:"button",key:s,download:!0,href:`${Z}/sessions/${n.id}/export?format=${s}`},t("export",{format:s}))),r?e("button",{class:"danger",onClick:a(()=>s.deleteSession(n.id))},t("sessions.sure")):e("button",{onClick:()=>c(!0)},t("sessions.delete"))))}function ms({state:{models:n,teams:o},act:a}){let[c,h]=C(),[d,m]=i(null);l(()=>a.loadPlace(),[]);let f=e=>h(async()=>m(await a.start(e)));if(n.status==="ready"&&!n.items.some(e=>e.has_key||e.source!=="catalog"))return e(x,{words:t("start.none")},e("a",{class:"button primary",href:"#/settings"},t("setup.first")));let r=(n,s,o,i)=>e(k,{name:n,label:s,none:t("start.default"),of:o,say:i});return e("form",{class:"start",onSubmit:N(f),"aria-label":t("sessions.new")},e(H,{label:t("start.prompt")},e("textarea",{name:"prompt",rows:"3",required:!0,placeholder:t("start.example")})),e("div",{class:"options"},r("team",t("nav.team"),o.items.filter(e=>!e.problem).map(e=>e.alias),e=>s(o.items.find(t=>t.alias===e).name||e,40)),r("model",t("setup.model"),n.items.map(e=>e.id)),r("mode",t("mode.label"),ft,e=>u("mode",e)),e(H,{label:t("start.budget")},e("input",{name:"max_budget_usd",type:"number",min:"0.01",step:"0.01",inputmode:"decimal",placeholder:t("start.free")}))),d&&e(T,{problem:d}),e("div",{class:"row end"},e("button",{class:"primary",disabled:c},t(c?"start.busy":"start.go"))))}let Gt={anthropic:"Anthropic",openai:"OpenAI",google:"Google"},ps={ok:"✓",warning:"▲",error:"✗"};function gs({state:s,act:o}){let{models:i,teams:r,me:a}=s;return l(()=>o.loadPlace(),[]),e("div",{class:"page settings"},e(bs,{models:i,act:o}),e(wn,{state:s,act:o}),e(Ut,{title:t("models.title"),empty:t("models.empty"),of:i,Row:Os,act:o}),e(Ut,{title:t("teams.title"),empty:t("teams.empty"),of:r,Row:xs,act:o}),e(Cs,null),e(Es,null),e("section",null,e("h2",null,t("set.server")),e(Y,{rows:[[t("set.version"),n(a.version),{class:"num"}],[t("set.workspace"),n(a.workspace),{class:"code"}]]}),e("button",{onClick:()=>o.leave()},t("set.leave"))))}function Oe(e,t,n){let[s,o]=i(null);return l(()=>{p(e).then(e=>o(t(e)),()=>{})},[n]),s}function bs({models:n,act:o}){let[_,f]=i(!1),h=n.status==="ready"&&!n.items.some(e=>e.current||e.has_key||e.source!=="catalog"),[d,g]=i("anthropic"),[c,u]=i(null),[m,v]=C(),b=Oe("/models?all=true",({items:e})=>e)||[],j=Oe("/config",e=>e.default_model,c),a=d==="other",y=({name:e,model:t,key:n,base_url:s},i)=>v(async()=>{u(null);let l={provider:a?e:d,...t&&{model:t},...n&&{key:n},...a&&{base_url:s}},c=await o.attempt(async()=>{let e=await r("/setup",l);u(e),e.ok&&(i.reset(),f(!1),o.loadPlace())});c&&u({ok:!1,error:c})}),p=c?.ok&&e("p",{class:"box ok",role:"status"},t("setup.done"));if(!h&&!_)return e("section",null,e("h2",null,t("setup.title")),p,e("p",null,t("setup.have")," ",e("span",{class:"code strong"},s(j||n.items.find(e=>e.current)?.id,60))),e("button",{onClick:()=>f(!0)},t("setup.change")));let l=(t,n,s,o)=>e(H,{label:n,hint:o},e("input",{name:t,autocomplete:"off",...s}));return e("section",{class:"setup"},e("h2",null,t(h?"setup.first":"setup.title")),e("p",{class:"muted"},t("setup.words")),e("form",{class:"start",onSubmit:N(y)},e(k,{label:t("setup.provider"),of:[...Object.keys(Gt),"other"],say:e=>Gt[e]||t("setup.other"),value:d,set:g}),a&&[l("name",t("setup.name"),{required:!0,pattern:"[A-Za-z0-9_\\-]{1,64}"}),l("base_url",t("setup.address"),{type:"url",required:!0},t("setup.where"))],l("key",t("setup.key"),{type:"password",required:!a},t("setup.kept")),l("model",t("setup.model"),{list:"setup-models",required:a,placeholder:a?"":t("setup.default")}),e("datalist",{id:"setup-models"},b.filter(e=>e.provider===d).map(t=>e("option",{key:t.id,value:t.model}))),p,c&&!c.ok&&e(T,{problem:c.error}),e("div",{class:"row end"},e("button",{class:"primary",disabled:m},t(m?"models.busy":"setup.go")))))}let wn=({state:n,act:s})=>e("section",null,e("h2",null,t("look.title")),e("div",{class:"options"},e(k,{label:t("look.theme"),of:["auto","light","dark"],say:e=>t(`look.${e}`),value:n.theme,set:e=>s.setLook({theme:e})}),e(k,{label:t("look.words"),of:Ge,say:e=>t(`language.${e}`),value:n.language,set:e=>s.setLook({language:e})})),e(Se,{label:t("look.notify"),checked:s.notifies,set:e=>s.setNotify(e)}),e(Se,{label:t("look.keys"),checked:n.keys==="on",set:e=>s.setLook({keys:e?"on":"off"})}));function qt(e){let[o,n]=i(null),[s,a]=C();return[s?null:o,s,()=>a(()=>e().then(n,e=>n({ok:!1,error:e,problems:[e.message||t("error.away")]})))]}function Kt({children:n,problem:o,ask:i,word:a,good:r}){let[c,l,d]=qt(i),u=[o,...c&&!c.ok?c.problems||[`${c.error.kind} ${c.error.message}`]:[]].filter(Boolean);return e("li",{class:"place-row"},e("span",{class:"grow"},n,u.map((t,n)=>e("span",{class:"error small",role:"alert",key:n},"✗ ",s(t,240))),c?.ok&&e("span",{class:"ok small",role:"status"},"✓ ",r(c))),e("button",{disabled:l,onClick:d},t(l?"models.busy":a)))}let Ut=({title:t,empty:n,of:s,act:o,Row:i})=>e("section",null,e("h2",null,t),s.status!=="ready"?e(q,{of:s,retry:()=>o.loadPlace()}):s.items.length?e("ul",{class:"list"},s.items.map(t=>e(i,{key:t.id||t.path,one:t}))):e("p",{class:"muted"},n)),Os=({one:o})=>e(Kt,{ask:()=>r("/models/test",{model:o.id}),word:"models.test",good:e=>t("models.works",{time:ze(e.duration_ms)})},e("span",{class:"code strong",title:n(o.id)},s(o.id,44)),o.current&&[" ",e("span",{class:"tag"},t("models.used"))],e("span",{class:"muted small"},t("models.window",{n:$(o.context_window)}),o.input_usd!==null&&` · ${t("models.price",{input:g(o.input_usd),output:g(o.output_usd??0)})}`)),xs=({one:n})=>e(Kt,{ask:()=>r(`/teams/${encodeURIComponent(n.alias)}/check`),word:"teams.check",good:()=>t("teams.ok"),problem:n.problem},e("span",{class:"strong"},s(n.name||n.alias,44))," ",e("span",{class:"muted"},s(n.description,120)),e("span",{class:"muted small"},s(n.members.join(", "),120)));function Cs(){let[s,i,o]=qt(()=>p("/doctor"));return e("section",null,e("h2",null,t("doctor.title")),s?.error&&e(T,{problem:s.error,retry:o}),s?.checks&&e("ul",{class:"list"},s.checks.map(t=>e("li",{key:t.name,class:`place-row is-${t.state}`},e(j,{is:ps[t.state]||"·"}),e("span",{class:"hidden"},u("check",t.state)),e("span",null,e("span",{class:"strong"},n(t.name))," ",n(t.detail),t.advice&&e("span",{class:"muted small"},n(t.advice)))))),i?e(Pe,null):e("button",{onClick:o},t("doctor.run")))}function Es(){let s=Oe("/config/origins",({items:e})=>e);return s&&e("section",null,e("h2",null,t("config.title")),e(_,{title:t("config.show",{n:s.length})},e(Y,{rows:s.map(({key:t,value:s,source:o})=>[e("span",{class:"code"},n(t)),[e("span",{class:"code pre"},n(typeof s=="string"?s:JSON.stringify(s)))," ",e("span",{class:"muted"},n(o))]])})))}let Vt=150,ke=2e4,De=24,Ms=new Set(["assistant_message","tool_start","tool_end","turn_end","wait","permission_request","file_changed","usage"]);class Fs{constructor(){Object.assign(this,{bars:[],open:null,calls:new Map,overs:[],marks:[],at:0})}begin(e,t,n=""){this.finish(t),this.open={kind:e,from:t,to:t,word:n}}finish(e){if(!this.open)return;this.open.to=e,e>this.open.from&&this.bars.push(this.open),this.open=null}cover(e,t,{call_id:n,deadline:s},o){this.overs.push({kind:e,from:t,to:t,call:n,word:String(o),until:Date.parse(s)||0})}uncover(e,t){this.bars.push(...this.overs.filter(e).map(e=>({...e,to:t}))),this.overs=this.overs.filter(t=>!e(t))}close(e){this.uncover(()=>!0,e),this.finish(e),this.calls.clear()}}function Ts(e){let n=new Map,o=[],s=e.length?Date.parse(e[0].ts):0,t=s,a=e.length>0&&e[0].seq>1,i=e=>(n.has(e)||n.set(e,new Fs),n.get(e));for(let d of e){t=Math.max(t,Date.parse(d.ts)||t);let{agent_id:u,type:c,data:r}=d;if(c==="message"&&(r.from!=="user"||!r.origin||r.origin==="user")&&(o.push({seq:d.seq,at:t,from:String(r.from),to:String(r.to),kind:String(r.kind)}),r.from!=="user"&&i(String(r.from))),c==="session_resumed")for(let e of n.values())e.close(e.at||t);if(!u)continue;let l=i(u);a&&!l.at&&Ms.has(c)&&l.begin("work",s),Object.hasOwn(St,c)&&St[c](l,t,r),l.at=t}return{lanes:n,arrows:o,start:s,end:t}}let St={turn_start(e,t){e.close(t),e.begin("work",t)},turn_end(e,t,{status:n}){e.close(t),n!=="completed"&&e.marks.push(t)},agent_ended(e,t){e.close(t)},tool_start(e,t,{id:n,name:s}){e.calls.set(n,s),e.open?.kind!=="tool"&&e.begin("tool",t,String(s))},tool_end(e,t,{id:n,ok:s}){e.uncover(e=>e.call===n,t),e.calls.delete(n),s||e.marks.push(t),e.calls.size?e.open&&(e.open.word=String([...e.calls.values()].pop())):e.begin("work",t)},wait(e,t,n){e.cover("waits",t,n,n.on)},permission_request(e,t,n){e.cover("asks",t,n,n.tool)},permission_decision(e,t,{call_id:n}){e.uncover(e=>e.kind==="asks"&&e.call===n,t)}};function Ds(e,t,n){let s=[t];for(let o of e){let t=Date.parse(o.ts);t>s[s.length-1]&&t<n&&s.push(t)}n>s[s.length-1]&&s.push(n);let o=[0];for(let e=1;e<s.length;e+=1){let t=s[e]-s[e-1];o.push(o[e-1]+(t<=ke?t:ke*(1+Math.log2(t/ke)/2)))}let i=o[o.length-1]||1,r=(e,t)=>{let n=0,s=e.length-1;for(;n<s-1;){let o=n+s>>1;e[o]<=t?n=o:s=o}return n},a=(e,t,n)=>{if(e.length<2)return 0;let o=Math.min(Math.max(n,e[0]),e[e.length-1]),s=r(e,o),i=(o-e[s])/(e[s+1]-e[s]||1);return t[s]+i*(t[s+1]-t[s])};return{place:e=>a(s,o,e)/i,moment:e=>a(o,s,e*i)}}function Ns(e,t){let n=e.filter(e=>Date.parse(e.ts)<t&&e.agent_id);if(!n.length)return null;let i=n[0].seq,a=n[n.length-1].seq+1,s=new Map,o=1;for(let e of n){let t=Math.floor((e.seq-i)/(a-i)*De);s.has(e.agent_id)||s.set(e.agent_id,new Array(De).fill(0));let r=s.get(e.agent_id);r[t]+=1,o=Math.max(o,r[t])}return{rows:s,most:o,buckets:De}}let f=24,ee=72,Le=14,wt={from:0,to:1},Is=["work","tool","waits","asks"],Bs=[1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,14400,43200,86400].map(e=>e*1e3);function Vs(e){if(e.agents.length<=8)return e.agents;let t=t=>e.questions.some(e=>e.agent_id===t.id)?0:S(t)?1:t.status==="ended"?3:2;return e.agents.map((e,n)=>[t(e),n,e]).sort((e,t)=>e[0]-t[0]||e[1]-t[1]).map(e=>e[2])}function $s({board:n,events:s,tick:o,now:a,until:r,selected:c,select:d}){let[j,w]=i(720),u=Vs(n),g=u.length>10&&innerWidth>900,b=g?32:44,m=h(null),[p,y]=i(wt),[O,_]=i("");rt(()=>{let e=()=>m.current&&w(Math.max(160,m.current.clientWidth));e();let t=new ResizeObserver(e);return t.observe(m.current),()=>t.disconnect()},[]);let x=u.map(e=>e.id).join(),v=W(()=>Us({board:n,events:s,rows:u,height:b,width:j,view:p,until:r,selected:c}),[o,x,j,p,r,b,c]);l(()=>y(wt),[n.id]);let C=e=>{let{from:a,to:s}=p,t=s-a,n={ArrowLeft:[-t/4,-t/4],ArrowRight:[t/4,t/4],"+":[t/4,0],"=":[t/4,0],"-":[-t/2,0],0:[-1,1]}[e.key];if(!n||e.ctrlKey||e.metaKey)return;e.preventDefault();let o=Math.min(1,Math.max(.02,t+n[1]-n[0])),i=Math.min(1,Math.max(o,s+n[1]));y({from:Math.max(0,i-o),to:i})},E=e=>{let{left:t,top:n}=e.currentTarget.getBoundingClientRect();_(v.tell(e.clientX-t,e.clientY-n-f))};return e("div",{class:`lanes${g?" dense":""}`},e("div",{class:"lanes-scroll"},e("div",{class:"lanes-names",role:"group","aria-label":t("team.agents"),onKeyDown:Bt},e("div",{class:"axis","aria-hidden":"true"}),u.map((t,s)=>e("button",{key:t.id,"data-stop":!0,class:`lane-name${c===t.id?" on":""}${t.status==="ended"?" over":""}`,"aria-pressed":c===t.id,tabindex:c===t.id||!c&&s===0?0:-1,onClick:()=>d(t.id)},e(B,{board:n,id:t.id}),e("span",{class:"lane-words"},e(z,{board:n,id:t.id,length:g?15:19}),e(Nt,{board:n,row:t,now:a}))))),e("div",{class:"lanes-box",ref:m,tabindex:"0",role:"group","aria-label":t("lanes.label"),onKeyDown:C,onPointerMove:E,onPointerLeave:()=>_("")},v.svg)),e("div",{class:"lanes-foot muted"},e("span",{class:"clip","aria-hidden":"true"},O||t("lanes.hint")),e("span",{class:"legend","aria-hidden":"true"},Is.map(n=>[e("span",{class:`key ${n}`,key:n}),t(`lanes.${n}`)," "]),["ask","task","response"].map(n=>[e("svg",{class:`arrow ${n}`,width:"24",height:"8",key:n},e("path",{d:"M0 4H23"})),t(`mail.${n}`)," "]))),e(Ws,{board:n,rows:u,now:a,arrows:v.arrows}))}function Ws({board:s,rows:o,now:i,arrows:a}){let r=(t,s,o)=>e("table",null,e("caption",null,t),e("thead",null,e("tr",null,s.map(t=>e("th",{scope:"col",key:t},t)))),e("tbody",null,o.map((t,s)=>e("tr",{key:s},t.map(t=>e("td",null,n(t)))))));return e("div",{class:"hidden"},r(t("lanes.table"),[t("by.agent"),t("state"),t("since")],o.map(e=>{let t=dt(s,e);return[e.name,t.word,A(i-Date.parse(t.since))]})),r(t("lanes.mail"),[t("time"),t("from"),t("to"),t("kind")],a.slice(-20).map(e=>[V(e.at),v(s,e.from),v(s,e.to),e.kind])))}function Us({board:n,events:o,rows:i,height:a,width:r,view:c,until:l,selected:d}){let{lanes:F,arrows:M,start:S,end:T}=Ts(o),w=M.slice(-Vt),p=M.length>Vt?w[0].at:S,g=p>S||o[0]?.seq>1?Ns(o,p):null,h=g?ee:0,O=Math.max(l||0,T,p+1),x=Ds(o,p,O),C=r-h-Le*2,m=e=>h+Le+(x.place(e)-c.from)/(c.to-c.from)*C,y=new Map(i.map((e,t)=>[e.id,t*a])),b=e=>y.get(e)+a/2,_=e=>Math.min(Math.max(e,h),r),E=[],k=[],u=a>=40?18:14;i.forEach(t=>{let s=F.get(t.id);if(!s)return;let a=[s.open,...s.overs].filter(Boolean).map(e=>({...e,to:O,open:!0})),o={work:"",tool:"",waits:"",asks:"",deadline:"",cross:""};for(let e of[...s.bars,...a]){if(e.to<p)continue;let n=_(m(Math.max(e.from,p))),c=_(m(e.to));if(c<=h||n>=r)continue;let i=Math.max(c-n,1.5),l=f+b(t.id)-u/2;o[e.kind]+=`M${n.toFixed(1)} ${l}h${i.toFixed(1)}v${u}h-${i.toFixed(1)}z`,e.until&&e.open&&e.until<=O&&(o.deadline+=`M${_(m(e.until)).toFixed(1)} ${l-3}v${u+6}`),k.push({left:n,right:n+i,row:t,bar:e})}let i=-9;for(let n of s.marks){let e=m(n);if(n<p||e<=h||e<i)continue;o.cross+=`M${(e-3).toFixed(1)} ${f+b(t.id)-3}l6 6m0-6l-6 6`,i=e+7}E.push(e("g",{class:`lane hue-${ct(n,t.id)}`,key:t.id},Object.entries(o).map(([t,n])=>n&&[(t==="waits"||t==="asks")&&e("path",{class:"paper",d:n}),e("path",{class:t,d:n,fill:t==="waits"?"url(#hatch)":0[0]})]),g?.rows.get(t.id)?.map((n,s)=>n&&e("rect",{class:"density",key:s,x:s*(ee-8)/g.buckets,width:(ee-8)/g.buckets-.5,y:f+b(t.id)+u/2-Math.max(2,n/g.most*u),height:Math.max(2,n/g.most*u)}))))});let z=w.filter(e=>m(e.at)>=h&&m(e.at)<=r).map(t=>{let s=t.from==="user";if(!y.has(t.to)||!s&&!y.has(t.from))return null;let r=m(t.at),o=f+b(t.to),i=s?o-a/2-2:f+b(t.from),n=o>i?1:-1,c=o-n*(u/2),l=s?i:i+n*(u/2);return e("g",{class:`arrow ${s?"prompt":t.kind}${d&&d!==t.from&&d!==t.to?" dim":""}`,key:t.seq},e("path",{d:`M${r.toFixed(1)} ${l}V${c-n*5}`}),e("path",{class:"head",d:`M${(r-3.5).toFixed(1)} ${c-n*6}h7l-3.5 ${n*6}z`}))}),D=Ks(x,c,m,h,r),j=f+i.length*a,N=e("svg",{class:"lanes-svg",width:r,height:j,viewBox:`0 0 ${r} ${j}`,"aria-hidden":"true"},e("defs",null,e("pattern",{id:"hatch",width:"6",height:"6",patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},e("path",{class:"hatch",d:"M0 0V6"}))),i.map((t,n)=>e("path",{class:"rule",key:t.id,d:`M0 ${f+n*a+.5}H${r}`})),D.map(t=>e("g",{key:t.at},e("path",{class:"tick",d:`M${t.x.toFixed(1)} ${f-4}V${j}`}),e("text",{x:t.x+4,y:"15"},t.word))),g&&[e("path",{class:"past",d:`M${ee-4}.5 ${f}V${j}`}),e("text",{x:"2",y:"15"},t("lanes.older"))],E,z),L=(e,o)=>{let r=i[Math.floor(o/a)];if(!r||o<0)return"";let d=k.filter(t=>t.row===r&&e>=t.left-2&&e<=t.right+2),u=d[d.length-1],m=se(new Date(x.moment(c.from+(e-h-Le)/C*(c.to-c.from))).toISOString());if(!u)return`${s(r.name,40)} · ${m}`;let{kind:l,word:f,from:p,to:g}=u.bar,b=l==="waits"?t("state.waits",{name:s(v(n,f),40)}):l==="work"?t("state.thinking"):`${l==="asks"?`${t("state.asks")} `:""}${s(f,40)}`;return`${s(r.name,40)} · ${b} · ${A(g-p)} · ${m}`};return{svg:N,arrows:w,tell:L}}function Ks(e,t,n,s,o){let i=e.moment(t.from),a=e.moment(t.to),r=Bs.find(e=>(a-i)/e<=8),c=[];if(!(a>i)||!r)return c;for(let e=Math.ceil(i/r)*r,d=s-1;e<=a;e+=r){let t=n(e);if(t<=d||t>o-60)continue;let l=new Date(e);c.push({at:e,x:t,word:a-i<3e5?`${V(l)}:${String(l.getSeconds()).padStart(2,"0")}`:V(l)}),d=t+84}return c}function qs({room:n,now:s,act:o,models:a,base:r,tick:c,words:l,facts:d}){let[m,p]=i(""),{replay:h}=n,y=W(()=>h?Ot(h.events):n.blocks,[h,n.blocks]),_=W(()=>h?{...n,live:new Map,first:0,offline:!0}:n,[h,n]);if(n.status!=="ready")return e(q,{of:n,retry:()=>o.reopen()});let{board:u,events:w}=h||n,g=!h&&!n.offline&&u.agents.some(S),v=g?s:Date.parse(u.updated)||0,f=u.agents.find(e=>e.id===m),b=u.agents[0]?.plan||[],j=e(On,{head:n.board.seq,at:u.seq,ts:u.updated,live:!h,show:e=>n.show(e)});return u.agents.length?e("div",{class:"team"},e("section",{class:"team-main","aria-label":t("team.label")},e(Ys,{board:u,act:o}),h&&e("p",{class:"box",role:"status"},t("replay.shown",{seq:u.seq})),e($s,{board:u,events:w,tick:c,now:v,until:g?Math.floor(s/5e3)*5e3:0,selected:m,select:e=>p(e===m?"":e)}),e("div",{class:"team-strip"},b.length>0&&e("section",{class:"strip-plan","aria-label":t("plan")},e("h2",null,t("plan")),e(pt,{steps:b})),e(Gs,{board:u,base:r})),e(nn,{room:_,board:u,facts:d,words:l,only:m,act:null,blocks:y}),j),f&&e(Qs,{key:f.id,board:u,row:f,now:v,act:h?null:o,models:a,base:r,close:()=>p("")})):e("section",{class:"team-main","aria-label":t("team.label")},e(x,{words:t("team.empty")}),j)}function Ys({board:s,act:o}){let i=so(s);if(!i.length)return null;let a=i[i.length-1]==="user",r=a&&s.questions.find(e=>e.agent_id===i[i.length-2]);return e("div",{class:`why${a?" asks":""}`,role:"status"},e("span",{class:"strong"},t("why")),e("span",{class:"why-chain"},i.map((n,o)=>e("span",{class:"row",key:o},o>0&&[e("span",{class:"muted","aria-hidden":"true"},"→"),e("span",{class:"hidden"},t("why.on"))],n!=="user"&&e(B,{board:s,id:n}),e(z,{board:s,id:n,length:20}))),r&&e("span",{class:"code muted clip"},n(r.tool))),a&&o&&e(fe,null))}function Gs({board:{counts:n,files:s},base:o}){let i=[["mail",n.messages],["calls",n.calls],["failed",n.failed_calls],["files",s.length],["errors",n.errors],["denials",n.denials]];return e("ul",{class:"counts"},i.filter(([e,t])=>t||["mail","calls","files"].includes(e)).map(([n,s])=>e("li",{key:n,class:n==="errors"||n==="failed"?"error":""},e("a",{href:o&&`${o}/${n==="files"?"changes":"conversation"}`},e("span",{class:"num strong"},c(s))," ",t(`count.${n}`,{n:s})))))}let bt={input_tokens:"card.fresh",cache_read_tokens:"card.read",cache_write_tokens:"card.written",output_tokens:"card.output"};function Qs({board:o,row:i,now:a,act:r,models:l=[],close:d,base:u}){let[m,f]=C(),{usage:h}=i,p=i.window?Math.round(i.context/i.window*100):0,g=o.questions.find(e=>e.agent_id===i.id),v=i.status==="ended",b=e=>[$(e),{class:"num",title:c(e)}],j=Object.keys(bt).filter(e=>h[e]),_=[[t("card.role"),s(i.type,24),{title:n(i.type)}],[t("setup.model"),s(i.model,22),{title:n(i.model),class:"code"}],[t("by.turn"),i.turn?`${c(i.turn)} · ${t("conv.steps",{n:i.steps})}`:t("card.noTurn"),{class:"num"}],[t("card.window"),[e("progress",{max:"100",value:Math.min(100,p),"aria-label":t("card.window")})," ",c(p)," %"],{class:"num",title:t("card.used",{used:i.context,all:i.window})}],[t("card.tokens"),...b(j.reduce((e,t)=>e+h[t],0))],...j.map(n=>[e("span",{class:"part"},t(bt[n])),...b(h[n])]),[t("card.cost"),Ye(i),{class:"num"}],i.unread.length>0&&[t("card.unread"),c(i.unread.length),{class:"num"}]],y=(t,n)=>n.length>0&&[e("h3",null,t),e("ul",{class:"plain"},n)];return e("aside",{class:"card","aria-label":n(i.name)},e("header",{class:"row"},e("h2",{class:"grow row"},e(ie,{board:o,id:i.id,length:19})),e(be,{act:d})),e("p",null,e(Nt,{board:o,row:i,now:a})),g&&e("p",{class:"box asks"},e("span",{class:"code clip"},s(g.text,160)),r&&e(fe,null)),i.error&&e("p",{class:"box error"},e("strong",{class:"code"},n(i.error.kind))," ",s(i.error.message,240)),v&&i.reason&&e("p",{class:"muted"},s(i.reason,200)),e(Y,{rows:_}),y(t("card.waits"),i.waits.map(t=>e("li",{key:t.message_id,class:"row"},e(ie,{board:o,id:t.on}),e(je,{since:t.since,now:a})))),y(t("card.calls"),i.calls.slice(0,6).map(t=>e("li",{key:t.id,class:"code clip",title:n(t.subject)},s(t.name,20)," ",e("span",{class:"muted"},s(t.subject,60))))),i.plan.length>0&&[e("h3",null,t("plan")),e(pt,{steps:i.plan})],r&&e("div",{class:"card-acts"},e("a",{class:"button",href:`${u}/conversation?agent=${i.id}`},t("nav.conversation")),e("a",{class:"button",href:`${u}/changes?agent=${encodeURIComponent(i.name)}`},t("nav.changes")),S(i)&&e("button",{disabled:m||i.stopping,onClick:()=>f(()=>r.interrupt(i.id))},t("stop")),!v&&e(k,{label:t("card.model"),hidden:!0,none:t("card.model"),of:l.map(e=>e.id),disabled:m,value:"",set:e=>e&&f(()=>r.changeModel(i.id,e))})))}let gt={completed:"✓",in_progress:"▸",pending:"○"},pt=({steps:t})=>e("ol",{class:"plan"},t.map((t,s)=>e("li",{key:s,class:`step ${Object.hasOwn(gt,t.status)?t.status:""}`},e(j,{is:gt[t.status]||"·"}),e("span",null,e("span",{class:"hidden"},u("step",t.status),": "),n(t.text))))),eo=120;function On({head:n,at:s,ts:o,show:a,live:r}){let[d,u]=i(!1),[b,g]=i(null),m=h(s);m.current=s,l(()=>{if(!d)return 0[0];let e=setInterval(()=>{m.current>=n?u(!1):a(m.current+1)},eo);return()=>clearInterval(e)},[d,n]),l(()=>g(null),[s]);let f=b??s,v=t("replay.at",{seq:f,head:n}),p=e=>{u(!1),g(Math.min(Math.max(e,1),n)),a(e)},y=()=>{!d&&s>=n&&a(1),u(!d)};return e("div",{class:"scrubber",role:"group","aria-label":t("replay.label")},e(re,{word:"replay.back",mark:"◀",disabled:s<=1,onClick:()=>p(s-1)}),e(re,{word:d?"replay.pause":"replay.play",mark:d?"❚❚":"▶",disabled:n<2,"aria-pressed":d,onClick:y}),e(re,{word:"replay.on",mark:"▶▏",disabled:s>=n,onClick:()=>p(s+1)}),e("input",{type:"range",min:"1",max:Math.max(1,n),value:f,"aria-label":t("replay.place"),"aria-valuetext":v,onInput:e=>p(Number(e.target.value))}),e("span",{class:"num scrub-at",title:v},c(f)," / ",c(n)," ",e("span",{class:"muted"},V(o))),e("button",{class:r?"live on":"live","aria-pressed":r,onClick:()=>{u(!1),a(null)}},e(j,{is:r?"●":"○"})," ",t("replay.live")))}let Ie={team:qs,conversation:Wn,changes:Ln},ht={sessions:Xt,inbox:rs,settings:gs};function ut(e){let[a,r=""]=e.replace(/^#\/?/,"").split("?"),[t,n,s,o]=a.split("/").map(e=>decodeURIComponent(e)),i=Object.fromEntries(new URLSearchParams(r));return t==="s"&&/^[A-Za-z0-9_-]{1,64}$/.test(n||"")?{screen:"session",id:n,tab:Object.hasOwn(Ie,s)?s:"team",seq:/^\d{1,15}$/.test(o||"")?Number(o):null,params:i}:{screen:Object.hasOwn(ht,t)?t:"sessions",params:i}}let lt=e=>{try{return e(localStorage)||""}catch{return""}},U=e=>lt(t=>t.getItem(`planck.${e}`)),ot=(e,t)=>lt(n=>n.setItem(`planck.${e}`,t));function co(t){let s={status:"loading",items:[],next:null},i={access:"checking",route:{screen:"sessions",params:{}},room:null,now:P.now(),toasts:[],help:!1,notices:[],me:null,inbox:{items:[],connection:"connecting",lostSince:0,ready:!1},sessions:s,models:s,teams:s,theme:U("theme")||"auto",language:U("language"),keys:U("keys")||"on",problem:null},o=new Zs(i,()=>mt(e(ho,{state:i,act:n}),t)),n=new po(o);n.applyLook(),addEventListener("hashchange",()=>n.go()),addEventListener("keydown",e=>n.press(e)),setInterval(()=>{document.visibilityState==="visible"&&o.set({now:P.now()})},1e3),o.touch(),n.enter()}let nt=e=>({room:e,tick:e.lanes,words:e.words,facts:e.facts});function uo(s,{events:o,session:i={}}){let a=Ae.of(o,i),r="team",c=e=>{r=e,a.touch()};return a.touch=()=>mt(e("div",{class:"app"},e("header",{class:"topbar"},e("div",{class:"where"},e("h1",{class:"clip"},e("bdi",null,n(a.board.name||i.name||a.board.id)))),e("nav",{class:"tabs","aria-label":t("nav.session")},["team","conversation"].map(n=>e("button",{key:n,"aria-current":r===n?"page":0[0],onClick:()=>c(n)},t(`nav.${n}`))))),e("main",{class:"main"},e(Ie[r],{...nt(a),now:Date.parse(a.board.updated),act:null}))),s),a.touch(),a}class ho extends Be{componentDidCatch(e){this.setState({problem:e})}render({state:s,act:o}){let{room:i,route:a,inbox:r,now:c}=s;if(this.state.problem)return e("main",{class:"page"},e(T,{problem:this.state.problem,retry:()=>location.reload()}));if(s.access!=="in")return e(fo,{state:s,act:o});let l=e=>{e.preventDefault(),document.getElementById("main").focus()};return e("div",{class:`app at-${a.screen}`},e("a",{class:"skip",href:"#main",onClick:l},t("skip")),e(ws,{state:s,act:o}),e(to,{room:i,inbox:r,now:c}),e("main",{class:"main",id:"main",tabindex:"-1"},e(mo,{state:s,act:o})),e(vs,{items:s.toasts,dismiss:e=>o.dismiss(e)}),e("div",{class:"hidden","aria-live":"polite"},i?.finished?n(i.finished.slice(0,1e3)):""),s.help&&e(ls,{close:()=>o.store.set({help:!1})}))}}function mo({state:t,act:n}){let{room:s,now:a,models:r,route:{screen:c,tab:i,seq:l,params:o}}=t;if(!s)return e(ht[c]||Xt,{state:t,act:n});let d=i==="changes"?`${s.id}?${o.call||o.agent}`:s.id;return e(Ie[i],{key:d,...nt(s),now:a,act:n,base:`#/s/${s.id}`,models:r.items,seq:l,agent:o.agent,params:o})}function fo({state:{access:n,problem:s},act:o}){return n==="checking"?e("main",{class:"door","aria-busy":"true"},e("span",{class:"hidden"},t("loading"))):e("main",{class:"door"},e("h1",null,t("door.title")),n==="problem"?e(T,{problem:s,retry:()=>o.enter()}):[e("p",null,t("door.words")),e("p",null,e("code",null,"planck serve --open")),e("form",{class:"row",onSubmit:N(({code:e})=>o.redeem(e))},e("input",{name:"code",class:"grow",autocomplete:"off","aria-label":t("door.code"),placeholder:t("door.code"),required:!0,maxlength:"128"}),e("button",{class:"primary"},t("door.enter"))),s&&e("p",{class:"error"},t("door.bad"))])}class po{constructor(e){this.store=e,this.announced=new Set,this.asked={}}get state(){return this.store.state}async enter(){let e=/^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);e&&(history.replaceState(null,"",`${location.pathname}#${e[2]||"/sessions"}`),await r("/auth/code",{code:e[1]}).catch(()=>{}));try{let e=ut(location.hash);e.screen==="session"&&this.store.set({route:e,room:this.makeRoom(e.id)});let t=await p("/me");this.store.set({access:"in",me:t,problem:null,language:U("language")||t.locale}),this.applyLook(),this.followInbox(),this.load("models"),p("/notices").then(({items:e})=>this.store.set({notices:e}),()=>{}),this.go()}catch(e){this.store.set({access:"problem",problem:e}),this.checkOut(e)}}checkOut({status:e}){e===401&&this.store.set({access:"out",problem:null})}async redeem(e){try{await r("/auth/code",{code:e.trim()}),await this.enter()}catch(e){this.store.set({access:"out",problem:e})}}go(){if(this.state.access!=="in")return;let{room:t}=this.state,e=ut(location.hash),n=this.state.route;t?.id!==e.id&&(t?.close(),t=e.id?this.makeRoom(e.id):null),this.store.set({route:e,room:t}),this.setTitle(),(n.screen!==e.screen||n.tab!==e.tab)&&document.getElementById("main")?.scrollTo(0,0)}makeRoom(e){let t=new Ae(e,()=>{this.state.room===t&&this.setTitle(),this.store.touch()});return t.onreset=()=>this.reopen(),t.open(),t}reopen(){let{room:e}=this.state;e.close(),this.store.set({room:this.makeRoom(e.id)})}async attempt(e){try{return await e(),null}catch(e){return this.checkOut(e),this.tell(e.kind||"internal_error",e.message||t("error.away"),"error"),e}}tell(e,t,n=""){let s=kt();this.store.set({toasts:[...this.state.toasts.slice(-3),{id:s,title:e,words:t,kind:n}]}),setTimeout(()=>this.dismiss(s),n==="error"?12e3:6e3)}dismiss(e){this.store.set({toasts:this.state.toasts.filter(t=>t.id!==e)})}async load(e,t=`/${e}`,n=[]){let o={};this.asked[e]=o;let s=t=>{this.asked[e]===o&&this.store.set({[e]:{...this.state[e],...t}})};this.state[e].status==="error"&&s({status:"loading"});try{let{items:e,next:o}=await p(t);s({status:"ready",items:[...n,...e],next:o})}catch(e){s({status:"error",items:[],next:null,problem:e})}}loadPlace(){this.load("models"),this.load("teams")}loadSessions(e,t={},n=[]){return this.load("sessions",`/sessions${he({q:e.trim().slice(0,200),limit:50,...t})}`,n)}moreSessions(e){return this.loadSessions(e,{cursor:this.state.sessions.next},this.state.sessions.items)}changeRows(e){let{sessions:t}=this.state;this.store.set({sessions:{...t,items:t.items.flatMap(e)}})}replace(e){this.changeRows(t=>t.id===e.id?e:t)}start(e){let t=Object.fromEntries(Object.entries(e).filter(([,e])=>e!==""));return t.max_budget_usd&&(t.max_budget_usd=Number(t.max_budget_usd)),this.attempt(async()=>{location.hash=`#/s/${(await r("/sessions",t)).id}/team`})}rename(e,t){return this.attempt(async()=>this.replace(await Me(`/sessions/${e}`,{name:t})))}deleteSession(e){return this.attempt(async()=>{await zt(`/sessions/${e}`),this.changeRows(t=>t.id===e?[]:t)})}fork(e,n){return this.attempt(async()=>{let s=await r(`/sessions/${e}/fork`,n?{at:n}:{});this.tell(s.name,t("fork.made")),location.hash=`#/s/${s.id}/conversation`})}get place(){return`/sessions/${this.state.room.id}`}prompt(e,t={}){let{room:n}=this.state;return this.attempt(async()=>{await r(`${this.place}/prompts`,{text:e,...t}),n.wake()})}goOnFrom(e,t){let{place:n,state:{room:s}}=this,o=()=>new Promise(e=>setTimeout(e,200));return this.attempt(async()=>{await r(`${n}/interrupt`);for(let e=50;e>0&&s.board.agents.some(S);e-=1)await o();for(let t=10;;t-=1)try{await r(`${n}/rewind`,{to:Math.max(0,e-1)});break}catch(e){if(e.status!==400||t<=0)throw e;await o()}s.wake(),t&&await r(`${n}/prompts`,{text:t})})}interrupt(e){return this.attempt(()=>r(`${this.place}/interrupt`,{agent:e}))}changeMode(e){return this.attempt(()=>Me(this.place,{mode:e}))}changeModel(e,t){return this.attempt(()=>Me(`${this.place}/agents/${encodeURIComponent(e)}`,{model:t}))}followInbox(){this.inboxStream?.close();let e=e=>this.state.inbox.items.filter(t=>t.id!==e);this.settle=t=>this.changeInbox({items:e(t)}),this.inboxStream=new vt(()=>"/inbox/events",{live:()=>this.changeInbox({items:[],ready:!0}),question:t=>{this.changeInbox({items:[...e(t.id),t]}),this.announce(t)},settled:({id:e})=>this.settle(e),session:e=>this.replace(e),state:e=>{this.changeInbox({connection:e,lostSince:e==="lost"?this.state.inbox.lostSince||P.now():0}),e==="lost"&&p("/me").catch(e=>this.checkOut(e))}})}changeInbox(e){this.store.set({inbox:{...this.state.inbox,...e}}),this.setTitle()}announce(e){if(this.announced.has(e.id))return;if(this.announced.add(e.id),document.visibilityState==="visible"||!this.notifies)return;let s=new Notification(t("inbox.asks",{agent:n(e.agent).slice(0,80)}),{body:n(e.text).slice(0,200),tag:e.id});s.onclick=()=>{focus(),location.hash="#/inbox"}}answer({id:e,digest:t},n,s){return this.attempt(async()=>{await r(`/approvals/${e}`,{digest:t,allow:n,...s}),this.settle(e)})}setTitle(){let{inbox:{items:e},room:i,route:s}=this.state,o=i?.board.name||(s.screen==="session"?"":t(`nav.${s.screen}`));document.title=`${e.length?`(${e.length}) `:""}${o?`${n(o).slice(0,80)} · `:""}Planck`}setLook(e){for(let[t,n]of Object.entries(e))ot(t,n);this.store.set(e),this.applyLook()}applyLook(){let{theme:t,language:n}=this.state,e=document.documentElement;e.dataset.theme=t,e.lang=gn(n),this.store.set({language:e.lang})}async setNotify(e){let t=e&&globalThis.Notification&&await Notification.requestPermission()==="granted";ot("notify",t?"on":"off"),this.store.touch()}get notifies(){return U("notify")==="on"&&globalThis.Notification?.permission==="granted"}async leave(){await this.attempt(()=>zt("/auth")),this.inboxStream?.close(),this.state.room?.close(),this.store.set({access:"out",room:null,problem:null})}press(e){let{target:a,key:t}=e,{room:n,keys:r}=this.state,c=document.querySelector("dialog[open]");if(r==="off"||c||e.defaultPrevented||e.ctrlKey||e.metaKey||e.altKey||a.closest?.("input, textarea, select"))return;let s=n&&`#/s/${n.id}`,o={i:"#/inbox",s:"#/sessions",...n&&{t:`${s}/team`,c:`${s}/conversation`,d:`${s}/changes`}},i={"/":"find",m:"composer"};if(t==="?")this.store.set({help:!0});else if(Object.hasOwn(o,t))location.hash=o[t];else if(Object.hasOwn(i,t))document.getElementById(i[t])?.focus();else if(t==="X"&&n)this.interrupt("");else return;e.preventDefault()}}let tt=e=>JSON.parse(document.getElementById(e)?.textContent||"null"),et=tt("planck-events"),Qe=document.getElementById("app");et?uo(Qe,{events:et,session:tt("planck-session")}):co(Qe)})()
