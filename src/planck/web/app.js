// Made of page/ by `make page`: 93b06d4c2a3d58d1
"use strict";(()=>{var ht,A,Zs,Ke,Qs,Bs,Uo,pt={},en=[],Wo=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;function xe(e,t){for(var s in t)e[s]=t[s];return e}function tn(e){var t=e.parentNode;t&&t.removeChild(e)}function n(e,t,s){var o,a,i,l={};for(i in t)i=="key"?o=t[i]:i=="ref"?a=t[i]:l[i]=t[i];if(arguments.length>2&&(l.children=arguments.length>3?ht.call(arguments,2):s),typeof e=="function"&&e.defaultProps!=null)for(i in e.defaultProps)l[i]===void 0&&(l[i]=e.defaultProps[i]);return dt(e,l,o,a,null)}function dt(e,t,s,o,a){var i={type:e,props:t,key:s,ref:o,__k:null,__:null,__b:0,__e:null,__d:void 0,__c:null,__h:null,constructor:void 0,__v:a??++Zs};return A.vnode!=null&&A.vnode(i),i}function gt(e){return e.children}function le(e,t){this.props=e,this.context=t}function Re(e,t){if(t==null)return e.__?Re(e.__,e.__.__k.indexOf(e)+1):null;for(var s;t<e.__k.length;t++)if((s=e.__k[t])!=null&&s.__e!=null)return s.__e;return typeof e.type=="function"?Re(e):null}function sn(e){var t,s;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((s=e.__k[t])!=null&&s.__e!=null){e.__e=e.__c.base=s.__e;break}return sn(e)}}function Fs(e){(!e.__d&&(e.__d=!0)&&Ke.push(e)&&!mt.__r++||Bs!==A.debounceRendering)&&((Bs=A.debounceRendering)||Qs)(mt)}function mt(){for(var e;mt.__r=Ke.length;)e=Ke.sort(function(t,s){return t.__v.__b-s.__v.__b}),Ke=[],e.some(function(t){var s,o,a,i,l,c;t.__d&&(l=(i=(s=t).__v).__e,(c=s.__P)&&(o=[],(a=xe({},i)).__v=i.__v+1,Kt(c,i,a,s.__n,c.ownerSVGElement!==void 0,i.__h!=null?[l]:null,o,l??Re(i),i.__h),rn(o,i),i.__e!=l&&sn(i)))})}function nn(e,t,s,o,a,i,l,c,d,p){var u,h,f,m,_,y,k,g=o&&o.__k||en,$=g.length;for(s.__k=[],u=0;u<t.length;u++)if((m=s.__k[u]=(m=t[u])==null||typeof m=="boolean"?null:typeof m=="string"||typeof m=="number"||typeof m=="bigint"?dt(null,m,null,null,m):Array.isArray(m)?dt(gt,{children:m},null,null,null):m.__b>0?dt(m.type,m.props,m.key,null,m.__v):m)!=null){if(m.__=s,m.__b=s.__b+1,(f=g[u])===null||f&&m.key==f.key&&m.type===f.type)g[u]=void 0;else for(h=0;h<$;h++){if((f=g[h])&&m.key==f.key&&m.type===f.type){g[h]=void 0;break}f=null}Kt(e,m,f=f||pt,a,i,l,c,d,p),_=m.__e,(h=m.ref)&&f.ref!=h&&(k||(k=[]),f.ref&&k.push(f.ref,null,m),k.push(h,m.__c||_,m)),_!=null?(y==null&&(y=_),typeof m.type=="function"&&m.__k!=null&&m.__k===f.__k?m.__d=d=on(m,d,e):d=an(e,m,f,g,_,d),p||s.type!=="option"?typeof s.type=="function"&&(s.__d=d):e.value=""):d&&f.__e==d&&d.parentNode!=e&&(d=Re(f))}for(s.__e=y,u=$;u--;)g[u]!=null&&(typeof s.type=="function"&&g[u].__e!=null&&g[u].__e==s.__d&&(s.__d=Re(o,u+1)),cn(g[u],g[u]));if(k)for(u=0;u<k.length;u++)ln(k[u],k[++u],k[++u])}function on(e,t,s){var o,a;for(o=0;o<e.__k.length;o++)(a=e.__k[o])&&(a.__=e,t=typeof a.type=="function"?on(a,t,s):an(s,a,a,e.__k,a.__e,t));return t}function an(e,t,s,o,a,i){var l,c,d;if(t.__d!==void 0)l=t.__d,t.__d=void 0;else if(s==null||a!=i||a.parentNode==null)e:if(i==null||i.parentNode!==e)e.appendChild(a),l=null;else{for(c=i,d=0;(c=c.nextSibling)&&d<o.length;d+=2)if(c==a)break e;e.insertBefore(a,i),l=i}return l!==void 0?l:a.nextSibling}function Hs(e,t,s){t[0]==="-"?e.setProperty(t,s):e[t]=s==null?"":typeof s!="number"||Wo.test(t)?s:s+"px"}function ct(e,t,s,o,a){var i;e:if(t==="style")if(typeof s=="string")e.style.cssText=s;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)s&&t in s||Hs(e.style,t,"");if(s)for(t in s)o&&s[t]===o[t]||Hs(e.style,t,s[t])}else if(t[0]==="o"&&t[1]==="n")i=t!==(t=t.replace(/Capture$/,"")),t=t.toLowerCase()in e?t.toLowerCase().slice(2):t.slice(2),e.l||(e.l={}),e.l[t+i]=s,s?o||e.addEventListener(t,i?Ws:Us,i):e.removeEventListener(t,i?Ws:Us,i);else if(t!=="dangerouslySetInnerHTML"){if(a)t=t.replace(/xlink[H:h]/,"h").replace(/sName$/,"s");else if(t!=="href"&&t!=="list"&&t!=="form"&&t!=="tabIndex"&&t!=="download"&&t in e)try{e[t]=s??"";break e}catch{}typeof s=="function"||(s!=null&&(s!==!1||t[0]==="a"&&t[1]==="r")?e.setAttribute(t,s):e.removeAttribute(t))}}function Us(e){this.l[e.type+!1](A.event?A.event(e):e)}function Ws(e){this.l[e.type+!0](A.event?A.event(e):e)}function Kt(e,t,s,o,a,i,l,c,d){var p,u,h,f,m,_,y,k,g,$,O,S=t.type;if(t.constructor!==void 0)return null;s.__h!=null&&(d=s.__h,c=t.__e=s.__e,t.__h=null,i=[c]),(p=A.__b)&&p(t);try{e:if(typeof S=="function"){if(k=t.props,g=(p=S.contextType)&&o[p.__c],$=p?g?g.props.value:p.__:o,s.__c?y=(u=t.__c=s.__c).__=u.__E:("prototype"in S&&S.prototype.render?t.__c=u=new S(k,$):(t.__c=u=new le(k,$),u.constructor=S,u.render=zo),g&&g.sub(u),u.props=k,u.state||(u.state={}),u.context=$,u.__n=o,h=u.__d=!0,u.__h=[]),u.__s==null&&(u.__s=u.state),S.getDerivedStateFromProps!=null&&(u.__s==u.state&&(u.__s=xe({},u.__s)),xe(u.__s,S.getDerivedStateFromProps(k,u.__s))),f=u.props,m=u.state,h)S.getDerivedStateFromProps==null&&u.componentWillMount!=null&&u.componentWillMount(),u.componentDidMount!=null&&u.__h.push(u.componentDidMount);else{if(S.getDerivedStateFromProps==null&&k!==f&&u.componentWillReceiveProps!=null&&u.componentWillReceiveProps(k,$),!u.__e&&u.shouldComponentUpdate!=null&&u.shouldComponentUpdate(k,u.__s,$)===!1||t.__v===s.__v){u.props=k,u.state=u.__s,t.__v!==s.__v&&(u.__d=!1),u.__v=t,t.__e=s.__e,t.__k=s.__k,t.__k.forEach(function(x){x&&(x.__=t)}),u.__h.length&&l.push(u);break e}u.componentWillUpdate!=null&&u.componentWillUpdate(k,u.__s,$),u.componentDidUpdate!=null&&u.__h.push(function(){u.componentDidUpdate(f,m,_)})}u.context=$,u.props=k,u.state=u.__s,(p=A.__r)&&p(t),u.__d=!1,u.__v=t,u.__P=e,p=u.render(u.props,u.state,u.context),u.state=u.__s,u.getChildContext!=null&&(o=xe(xe({},o),u.getChildContext())),h||u.getSnapshotBeforeUpdate==null||(_=u.getSnapshotBeforeUpdate(f,m)),O=p!=null&&p.type===gt&&p.key==null?p.props.children:p,nn(e,Array.isArray(O)?O:[O],t,s,o,a,i,l,c,d),u.base=t.__e,t.__h=null,u.__h.length&&l.push(u),y&&(u.__E=u.__=null),u.__e=!1}else i==null&&t.__v===s.__v?(t.__k=s.__k,t.__e=s.__e):t.__e=Vo(s.__e,t,s,o,a,i,l,d);(p=A.diffed)&&p(t)}catch(x){t.__v=null,(d||i!=null)&&(t.__e=c,t.__h=!!d,i[i.indexOf(c)]=null),A.__e(x,t,s)}}function rn(e,t){A.__c&&A.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(o){o.call(s)})}catch(o){A.__e(o,s.__v)}})}function Vo(e,t,s,o,a,i,l,c){var d,p,u,h=s.props,f=t.props,m=t.type,_=0;if(m==="svg"&&(a=!0),i!=null){for(;_<i.length;_++)if((d=i[_])&&(d===e||(m?d.localName==m:d.nodeType==3))){e=d,i[_]=null;break}}if(e==null){if(m===null)return document.createTextNode(f);e=a?document.createElementNS("http://www.w3.org/2000/svg",m):document.createElement(m,f.is&&f),i=null,c=!1}if(m===null)h===f||c&&e.data===f||(e.data=f);else{if(i=i&&ht.call(e.childNodes),p=(h=s.props||pt).dangerouslySetInnerHTML,u=f.dangerouslySetInnerHTML,!c){if(i!=null)for(h={},_=0;_<e.attributes.length;_++)h[e.attributes[_].name]=e.attributes[_].value;(u||p)&&(u&&(p&&u.__html==p.__html||u.__html===e.innerHTML)||(e.innerHTML=u&&u.__html||""))}if((function(y,k,g,$,O){var S;for(S in g)S==="children"||S==="key"||S in k||ct(y,S,null,g[S],$);for(S in k)O&&typeof k[S]!="function"||S==="children"||S==="key"||S==="value"||S==="checked"||g[S]===k[S]||ct(y,S,k[S],g[S],$)})(e,f,h,a,c),u)t.__k=[];else if(_=t.props.children,nn(e,Array.isArray(_)?_:[_],t,s,o,a&&m!=="foreignObject",i,l,i?i[0]:s.__k&&Re(s,0),c),i!=null)for(_=i.length;_--;)i[_]!=null&&tn(i[_]);c||("value"in f&&(_=f.value)!==void 0&&(_!==e.value||m==="progress"&&!_)&&ct(e,"value",_,h.value,!1),"checked"in f&&(_=f.checked)!==void 0&&_!==e.checked&&ct(e,"checked",_,h.checked,!1))}return e}function ln(e,t,s){try{typeof e=="function"?e(t):e.current=t}catch(o){A.__e(o,s)}}function cn(e,t,s){var o,a;if(A.unmount&&A.unmount(e),(o=e.ref)&&(o.current&&o.current!==e.__e||ln(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(i){A.__e(i,t)}o.base=o.__P=null}if(o=e.__k)for(a=0;a<o.length;a++)o[a]&&cn(o[a],t,typeof e.type!="function");s||e.__e==null||tn(e.__e),e.__e=e.__d=void 0}function zo(e,t,s){return this.constructor(e,s)}function Gt(e,t,s){var o,a,i;A.__&&A.__(e,t),a=(o=typeof s=="function")?null:s&&s.__k||t.__k,i=[],Kt(t,e=(!o&&s||t).__k=n(gt,null,[e]),a||pt,pt,t.ownerSVGElement!==void 0,!o&&s?[s]:a?null:t.firstChild?ht.call(t.childNodes):null,i,!o&&s?s:a?a.__e:t.firstChild,o),rn(i,e)}ht=en.slice,A={__e:function(e,t){for(var s,o,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((o=s.constructor)&&o.getDerivedStateFromError!=null&&(s.setState(o.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e),a=s.__d),a)return s.__E=s}catch(i){e=i}throw e}},Zs=0,le.prototype.setState=function(e,t){var s;s=this.__s!=null&&this.__s!==this.state?this.__s:this.__s=xe({},this.state),typeof e=="function"&&(e=e(xe({},s),this.props)),e&&xe(s,e),e!=null&&this.__v&&(t&&this.__h.push(t),Fs(this))},le.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),Fs(this))},le.prototype.render=gt,Ke=[],Qs=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,mt.__r=0,Uo=0;var Ge,te,Vs,ft=0,Vt=[],zs=A.__b,Ks=A.__r,Gs=A.diffed,Js=A.__c,Ys=A.unmount;function _t(e,t){A.__h&&A.__h(te,e,ft||t),ft=0;var s=te.__H||(te.__H={__:[],__h:[]});return e>=s.__.length&&s.__.push({}),s.__[e]}function C(e){return ft=1,Ko(dn,e)}function Ko(e,t,s){var o=_t(Ge++,2);return o.t=e,o.__c||(o.__=[s?s(t):dn(void 0,t),function(a){var i=o.t(o.__[0],a);o.__[0]!==i&&(o.__=[i,o.__[1]],o.__c.setState({}))}],o.__c=te),o.__}function I(e,t){var s=_t(Ge++,3);!A.__s&&Jt(s.__H,t)&&(s.__=e,s.__H=t,te.__H.__h.push(s))}function bt(e,t){var s=_t(Ge++,4);!A.__s&&Jt(s.__H,t)&&(s.__=e,s.__H=t,te.__h.push(s))}function J(e){return ft=5,he(function(){return{current:e}},[])}function he(e,t){var s=_t(Ge++,7);return Jt(s.__H,t)&&(s.__=e(),s.__H=t,s.__h=e),s.__}function Go(){Vt.forEach(function(e){if(e.__P)try{e.__H.__h.forEach(ut),e.__H.__h.forEach(zt),e.__H.__h=[]}catch(t){e.__H.__h=[],A.__e(t,e.__v)}}),Vt=[]}A.__b=function(e){te=null,zs&&zs(e)},A.__r=function(e){Ks&&Ks(e),Ge=0;var t=(te=e.__c).__H;t&&(t.__h.forEach(ut),t.__h.forEach(zt),t.__h=[])},A.diffed=function(e){Gs&&Gs(e);var t=e.__c;t&&t.__H&&t.__H.__h.length&&(Vt.push(t)!==1&&Vs===A.requestAnimationFrame||((Vs=A.requestAnimationFrame)||function(s){var o,a=function(){clearTimeout(i),Xs&&cancelAnimationFrame(o),setTimeout(s)},i=setTimeout(a,100);Xs&&(o=requestAnimationFrame(a))})(Go)),te=void 0},A.__c=function(e,t){t.some(function(s){try{s.__h.forEach(ut),s.__h=s.__h.filter(function(o){return!o.__||zt(o)})}catch(o){t.some(function(a){a.__h&&(a.__h=[])}),t=[],A.__e(o,s.__v)}}),Js&&Js(e,t)},A.unmount=function(e){Ys&&Ys(e);var t=e.__c;if(t&&t.__H)try{t.__H.__.forEach(ut)}catch(s){A.__e(s,t.__v)}};var Xs=typeof requestAnimationFrame=="function";function ut(e){var t=te;typeof e.__c=="function"&&e.__c(),te=t}function zt(e){var t=te;e.__c=e.__(),te=t}function Jt(e,t){return!e||e.length!==t.length||t.some(function(s,o){return s!==e[o]})}function dn(e,t){return typeof t=="function"?t(e):t}var un=["agent_ended","agent_started","checked","compacted","control","error","forked","landing_finished","landing_proposed","landing_refused","landing_skipped","mode_changed","model_changed","renamed","session_resumed","view_dropped","view_opened"],Yt={file_changed:["before","keys"],compacted:["messages","summary","plan"],rewound:["messages"]};var Le="/api/v1",yt=class extends Error{constructor(t,s,o){super(o),Object.assign(this,{status:t,kind:s})}},Me={ahead:0,now(){return Date.now()+this.ahead}};function Jo(e){let t=Date.parse(e.headers.get("date")||""),s=t+500-Date.now();t&&Math.abs(s)>3e3&&(Me.ahead=s)}function Xt(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,t=>t.toString(16).padStart(2,"0")).join("")}async function pn(e,t,s,o="application/json"){let a={method:e,headers:{accept:o},cache:"no-store"};e!=="GET"&&(Object.assign(a.headers,{"content-type":"application/json",...e==="POST"&&{"idempotency-key":Xt()}}),a.body=JSON.stringify(s||{}));let i=await fetch(Le+t,a).catch(()=>{throw new yt(0,"network","")});if(Jo(i),i.ok)return i;let l=(await i.json().catch(()=>null))?.error||{};throw new yt(i.status,String(l.kind||"internal_error"),String(l.message||i.status))}var kt=async(...e)=>{let t=await pn(...e);return t.status===204?null:t.json()},Y=e=>kt("GET",e),K=(e,t)=>kt("POST",e,t),wt=(e,t)=>kt("PATCH",e,t),Zt=e=>kt("DELETE",e),Je=e=>`?${new URLSearchParams(Object.entries(e).filter(([,t])=>t))}`;function xt(e){for(let t of Object.hasOwn(Yt,e.type)?Yt[e.type]:[])delete e.data[t];return e}async function vt(e,t){return(await(await pn("GET",`/sessions/${e}/events${Je(t)}`,null,"application/x-ndjson")).text()).split(`
`).filter(Boolean).map(o=>xt(JSON.parse(o)))}var mn="ask_agent",Qt="update_plan",fn=["bash"];var hn=["command","path","pattern","name","identifier","query","url"],es={read:"path",write:"path",edit:"path",bash:"command",glob:"path",grep:"path",list_dir:"path",web_fetch:"url",load_skill:"name",ask_agent:"identifier",delegate_task:"identifier",spawn_agent:"name",destroy_agent:"identifier",interrupt_agent:"identifier"},ts={read:"count",write:"diff",edit:"diff",glob:"count",grep:"count",list_dir:"count",load_skill:"nothing",list_skills:"nothing",update_plan:"whole",ask_agent:"message",delegate_task:"message",send_response:"message",list_team:"nothing",spawn_agent:"nothing",list_models:"nothing"};var ss=500,Yo=50,Xo=100,Zo=["messages","turns","calls","failed_calls","questions","denials","file_changes","compactions","errors","resumes"],Ct=["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens","reasoning_tokens"],Ie=(e,t)=>Object.fromEntries(e.map(s=>[s,t(s)])),is=()=>0;function Et(){return{seq:0,id:"",name:"",workspace:"",version:"",started:"",updated:"",parent:"",forked_at:0,mode:"",state:"done",halted:!1,agents:[],questions:[],owed:[],budget:null,files:[],usage:Ie(Ct,is),cost_usd:0,unpriced:0,counts:Ie(Zo,is),error:null}}function rs(e,t){if(t.seq===null||t.seq===void 0)return e;let s={...e,seq:t.seq,updated:t.ts},o=Object.hasOwn(Cn,t.type)&&Cn[t.type],a=o&&On(o[0],t.data);return a&&(o[1](s,t,a,Tt(s,t.agent_id)),s.state=sa(s)),s}function Xe(e,t=Et()){for(let s of e)t=rs(t,s);return t}var Be=e=>typeof e=="string",$t=e=>typeof e=="object"&&e!==null&&!Array.isArray(e),Tn=e=>[t=>t===null||e(t),null],ge=[Be],M=[Be,""],St=[Number.isInteger,0],gn=Tn(Be),ns=Tn(Number.isFinite),Qo=[e=>typeof e=="boolean",!1],ea=[e=>Array.isArray(e)&&e.every(Be),[]],_n=[()=>!0,null];function On(e,t){if(!$t(t))return null;let s={};for(let o in e){let a=e[o];if(a===!0)continue;let i=Object.hasOwn(t,o);if(Array.isArray(a)){if(i?!a[0](t[o]):a.length<2)return null;s[o]=i?t[o]:a[1]}else if(s[o]=i||!a.needed?On(a,i?t[o]:{}):null,!s[o])return null}return s}var bn=Ie(Ct,()=>St),yn={provider:M,model:M,id:M,context_window:[Number.isInteger,128e3]},kn={id:M,name:M,workspace:M,version:M,options:{mode:M}},wn={name:M,mode:M},xn=e=>e.id||`${e.provider}/${e.model}`,Ye=(e,t)=>e.length<=t?e:Array.from(e).slice(0,t).join(""),ta=(e,t)=>Ie(Ct,s=>e[s]+t[s]),Tt=(e,t)=>e.agents.find(s=>s.id===t);function G(e,t,s){let o=e.agents.findIndex(a=>a.id===t&&a.status!=="ended");o<0||(e.agents=e.agents.slice(),e.agents[o]={...e.agents[o],...s})}var de=(e,t,s)=>{e[t]=e[t].filter(s)};function ce(e,t,s=1){e.counts={...e.counts,[t]:e.counts[t]+s}}function sa(e){if(e.questions.length)return"waiting";let t="",s=!1;for(let o of e.agents)if(o.status!=="ended"){if(o.status!=="idle"||o.unread.length&&!e.halted)return"running";t=t||o.last_turn||"none",s=s||o.unread.length>0}return t==="failed"||t==="capped"?"failed":s||t==="interrupted"||t==="timed_out"?"interrupted":"done"}function Mn(e,t){e.agents=e.agents.map(s=>s.waits.some(t)?{...s,waits:s.waits.filter(o=>!t(o))}:s)}function vn(e){Mn(e,()=>!0),e.questions=[],de(e,"owed",t=>t.kind!=="ask")}function os(e,t){for(let s of t){let o=e.owed.find(i=>i.id===s);if(!o)continue;let a=Tt(e,o.from);de(e,"owed",i=>i!==o),a&&G(e,a.id,{waits:a.waits.filter(i=>i.message_id!==s)})}}function as(e,t){let s=new Set(Tt(e,t)?.waits.map(o=>o.message_id));G(e,t,{waits:[]}),de(e,"questions",o=>o.agent_id!==t),de(e,"owed",o=>!s.has(o.id))}function Sn(e,t,s,o){G(e,t,{status:"idle",since:s,last_turn:o,opened_by:"",calls:[],stopping:!1})}function na(e){return Be(e)?e:e===null?"None":typeof e=="boolean"?e?"True":"False":typeof e=="number"?String(e):JSON.stringify(e)}function ls(e,t){if(!$t(t))return"";let o=[...Object.hasOwn(es,e)?[es[e]]:[],...hn].find(a=>Object.hasOwn(t,a)&&Be(t[a]));return o?Ye(t[o],200):""}function oa(e){if(!$t(e)||!Array.isArray(e.steps))return[];let t=(s,o)=>Object.hasOwn(s,o)?na(s[o]):"";return e.steps.slice(0,Yo).filter($t).map(s=>({text:Ye(t(s,"text"),200),status:t(s,"status")}))}function $n(e,t,s){e.mode=s.mode||e.mode,e.name=s.name||e.name}var Cn={session_started:[kn,(e,t,{options:s,...o})=>Object.assign(e,o,{started:t.ts,mode:s.mode})],session_resumed:[kn,(e,t,s)=>{ce(e,"resumes"),vn(e),e.version=s.version||e.version,e.mode=s.options.mode||e.mode,e.halted=!1}],renamed:[wn,$n],mode_changed:[wn,$n],forked:[{session_id:M,at:St},(e,t,s)=>{vn(e);for(let o of e.agents.filter(a=>a.status!=="idle"&&a.status!=="ended"))Sn(e,o.id,t.ts,"interrupted");e.parent=s.session_id,e.forked_at=s.at,e.halted=!0}],agent_started:[{agent:{needed:!0,id:ge,type:M,name:M,role:M,model:yn,delegator_id:M}},(e,t,{agent:{id:s,type:o,name:a,role:i,model:l,delegator_id:c}})=>{de(e,"agents",d=>d.id!==s),e.agents.push({id:s,type:o,name:a,role:i,delegator_id:c,model:xn(l),status:"idle",since:t.ts,stopping:!1,turn:0,steps:0,opened_by:"",last_turn:"",ended:"",reason:"",unread:[],calls:[],waits:[],plan:[],usage:Ie(Ct,is),cost_usd:0,unpriced:0,context:0,window:l.context_window,error:null})}],agent_ended:[{status:M,reason:M},(e,t,s)=>{let o=t.agent_id;G(e,o,{status:"ended",since:t.ts,ended:s.status,reason:Ye(s.reason,ss),stopping:!1,opened_by:"",unread:[],calls:[],waits:[]}),Mn(e,a=>a.on===o),de(e,"questions",a=>a.agent_id!==o),de(e,"owed",a=>a.to!==o)}],message:[{id:ge,kind:M,from:M,to:M,correlation_id:gn,outcome:M},(e,t,{id:s,kind:o,from:a,to:i,correlation_id:l,outcome:c})=>{let d={id:s,kind:o,from:a,to:i,since:t.ts};ce(e,"messages");let p=Tt(e,i);p&&G(e,p.id,{unread:[...p.unread,d]}),(o==="ask"||o==="task")&&a!=="user"?e.owed=[...e.owed,d]:o==="response"&&l&&c!=="in progress"&&os(e,[l])}],delivery:[{ids:ea,state:M},(e,t,s,o)=>{o&&G(e,o.id,{unread:o.unread.filter(a=>!s.ids.includes(a.id))}),s.state!=="delivered"&&os(e,s.ids)}],wait:[{on:ge,message_id:ge,deadline:M,call_id:gn},(e,t,s,o)=>{!o||o.opened_by===""||o.stopping||G(e,o.id,{waits:[...o.waits,{...s,call_id:s.call_id||"",since:t.ts}]})}],control:[{action:ge,target:M},(e,t,s)=>{let o=s.action==="halt";for(let a of e.agents.filter(i=>o||i.id===s.target))s.action==="destroy"&&G(e,a.id,{ended:"destroyed"}),a.opened_by&&(G(e,a.id,{stopping:!0}),as(e,a.id));e.halted=e.halted||o}],turn_start:[{message_id:M},(e,t,s)=>{as(e,t.agent_id||""),ce(e,"turns"),e.halted=!1,G(e,t.agent_id,{status:"streaming",since:t.ts,turn:t.turn,steps:0,opened_by:s.message_id,calls:[],error:null,stopping:!1})}],turn_end:[{status:M},(e,t,s,o)=>{o&&(as(e,o.id),os(e,e.owed.filter(a=>a.id===o.opened_by&&a.kind==="ask").map(a=>a.id)),Sn(e,o.id,t.ts,s.status))}],assistant_message:[{message:{needed:!0,usage:bn}},(e,t,{message:{usage:s}},o)=>{if(!o)return;let a=s.input_tokens+s.cache_read_tokens+s.cache_write_tokens+s.output_tokens;G(e,o.id,{steps:o.steps+1,context:a||o.context,since:t.ts})}],tool_start:[{id:ge,name:M,args:_n},(e,t,{id:s,name:o,args:a},i)=>{if(!i)return;let l={id:s,name:o,subject:ls(o,a),since:t.ts,plan:o===Qt?oa(a):[]};G(e,i.id,{status:"executing_tools",since:t.ts,calls:[...i.calls,l]})}],tool_end:[{id:ge,name:M,ok:Qo},(e,t,s,o)=>{ce(e,"calls"),s.ok||ce(e,"failed_calls"),de(e,"questions",d=>!s.id||d.call_id!==s.id);let a=o?.calls.find(d=>d.id===s.id);if(!a)return;let i=o.calls.filter(d=>d.id!==s.id),l=i.some(d=>d.name===mn),c=o.waits.filter(d=>d.call_id===s.id||!d.call_id&&!l).map(d=>d.message_id);G(e,o.id,{status:i.length?"executing_tools":"streaming",since:t.ts,calls:i,waits:o.waits.filter(d=>!c.includes(d.message_id)),plan:a.name===Qt&&s.ok?a.plan:o.plan}),de(e,"owed",d=>!c.includes(d.id))}],usage:[{usage:bn,cost_usd:ns,estimated:_n},(e,t,s,o)=>{let a=i=>({usage:ta(i.usage,s.usage),cost_usd:i.cost_usd+(s.cost_usd||0),unpriced:i.unpriced+(s.cost_usd===null?1:0),...s.estimated&&{estimated:(i.estimated||0)+1}});o&&G(e,o.id,a(o)),Object.assign(e,a(e))}],budget:[{limit_usd:ns,spent_usd:ns},(e,t,s)=>{s.limit_usd!==null&&(e.budget=s)}],permission_request:[{id:ge,call_id:M,tool:M,text:M,adds:M,reason:M,digest:M,deadline:M},(e,t,s,o)=>{if(ce(e,"questions"),o?.stopping)return;let a=Ie(["text","adds","reason"],i=>Ye(s[i],ss));e.questions=[...e.questions,{...s,...a,seq:t.seq||0,agent_id:t.agent_id||"",since:t.ts}]}],permission_decision:[{call_id:M,decision:M,request_id:M},(e,t,s)=>{s.decision==="deny"&&ce(e,"denials"),de(e,"questions",o=>o.id!==s.request_id&&!(s.call_id&&o.call_id===s.call_id))}],file_changed:[{path:ge,call_id:M,after_sha256:M},(e,t,{after_sha256:s,...o})=>{let a=e.files.find(l=>l.path===o.path),i={...o,agent_id:t.agent_id||"",changes:(a?.changes||0)+1,removed:s==="",since:t.ts};e.files=[...e.files.filter(l=>l!==a),i].slice(-Xo),ce(e,"file_changes")}],compacted:[{tokens_after:St,window:St},(e,t,s,o)=>{ce(e,"compactions"),o&&G(e,o.id,{context:s.tokens_after,window:s.window||o.window})}],rewound:[{},(e,t)=>G(e,t.agent_id,{context:0})],model_changed:[{model:{needed:!0,...yn}},(e,t,s)=>{G(e,t.agent_id,{model:xn(s.model),window:s.model.context_window})}],error:[{kind:M,message:M},(e,t,s)=>{let o={agent_id:t.agent_id||"",kind:s.kind,message:Ye(s.message,ss),since:t.ts};ce(e,"errors"),G(e,t.agent_id,{error:o}),e.error=o}]};var aa="allowAlways allowOnce allowSession answer budget by by.agent by.call by.turn call.command call.exit call.output call.runs cancel card.calls card.cost card.fresh card.model card.noTurn card.output card.read card.role card.tokens card.unread card.used card.waits card.window card.written changes.command changes.empty changes.files changes.lost changes.turn changes.undo changes.undone check.error check.ok check.warning close code code.of config.show config.title conn.ended conn.lost conv.all conv.begin conv.edit conv.empty conv.filter conv.find conv.forget conv.goOn conv.images conv.none conv.older conv.rewind conv.steps conv.thinking conv.toEnd cost.none cost.unpriced cost.whole count.calls count.denials count.errors count.failed count.files count.mail decision.allow decision.deny deny denyReason diff diff.added diff.hidden diff.removed doctor.run doctor.title door.bad door.code door.enter door.title door.words error.away export fold fork fork.made from help inbox.adds inbox.asks inbox.call inbox.count inbox.decline inbox.empty inbox.expires inbox.hidden inbox.in inbox.late inbox.lost inbox.more inbox.none inbox.noRule inbox.noValue inbox.of inbox.opened inbox.place inbox.reason inbox.rule inbox.send inbox.shown inbox.wants inbox.why inbox.wider inbox.yes keys.close keys.compose keys.find keys.help keys.pan keys.rows keys.stop keys.zoom kind lanes.asks lanes.hint lanes.label lanes.mail lanes.older lanes.table lanes.tool lanes.waits lanes.work language.en language.es live.compacting live.pacing live.working loading look.auto look.dark look.keys look.light look.notify look.theme look.title look.words mail.ask mail.prompt mail.response mail.runtime mail.task md.image md.table mode.ask mode.full mode.label mode.plan mode.read-only mode.workspace models.busy models.empty models.price models.test models.title models.used models.window models.works more nav.changes nav.conversation nav.inbox nav.label nav.session nav.sessions nav.settings nav.team nobody note.checked note.compacted note.destroyed note.ended note.forked note.halted note.interrupted note.landed note.landing note.mode note.model note.refused note.renamed note.resumed note.rewound note.skipped note.started note.view_dropped note.view_opened note.told plan proof.contradicted proof.failed proof.fresh proof.open proof.passed proof.proven proof.refused proof.stale proof.stale_test proof.title proof.unsupported proof.untested replay.at replay.back replay.label replay.live replay.on replay.pause replay.place replay.play replay.shown retry say.busy say.hint say.idle say.label say.queue say.send say.steer say.team say.to scope.once scope.rule scope.session search.label session.done session.failed session.interrupted session.running session.unknown session.waiting sessions.acts sessions.blank sessions.delete sessions.empty sessions.find sessions.fork sessions.held sessions.new sessions.none sessions.origin sessions.rename sessions.sure sessions.where set.leave set.server set.version set.workspace setup.address setup.change setup.default setup.done setup.first setup.go setup.have setup.kept setup.key setup.model setup.name setup.other setup.provider setup.title setup.where setup.words showAll since skip start.budget start.busy start.default start.example start.free start.go start.none start.prompt state state.asks state.ended state.error state.failed state.idle state.stopping state.thinking state.unread state.waits step.completed step.in_progress step.pending stop team.agents team.empty team.label teams.check teams.empty teams.ok teams.title time time.ago time.now to tokens turn.capped turn.completed turn.failed turn.interrupted turn.timed_out undo.commands undo.done undo.look undo.none undo.plan undo.take undo.tick why why.on you".split(" "),cs=e=>Object.fromEntries(e.split(`
`).map((t,s)=>[aa[s],t])),ds=cs(`Always allow
Allow once
Allow for this session
Answer
{spent} of {limit} spent
Group by
Agent
Call
Turn
Full command
exit code {code}
Output
running
Cancel
Running tools
Cost
input
Change model…
none yet
output
cache read
Type
Tokens
Unread
{used} of {all} tokens
Waiting for
Context
cache write
by a command
No files changed in this session yet.
{n} file|{n} files
No diff: the log does not contain what this call wrote.
turn {n}
undo
undone
Error
OK
Warning
Close
Code
Code ({language})
{n} setting in effect|{n} settings in effect
Configuration
This session is closed. You can still read it. Send a message to reopen it.
Connection lost {span} ago. Reconnecting… You can still read this page.
All
Start of session
Edit message
No messages yet. Describe a task to get started.
Filter by agent
Search this session
All agents forget this message and everything after it. Files are not changed.
Rewind and send
{n} image attached|{n} images attached
No matching messages.
Loading earlier messages…
Rewind only
{n} step|{n} steps
Thinking
Jump to latest ↓
unpriced
{n} call has no known price and is not included|{n} calls have no known price and are not included
Cost of this session
tool call|tool calls
denial|denials
error|errors
failed call|failed calls
file|files
message|messages
allowed
denied
Deny
Deny with reason
Diff
added:
{n} more line is not shown.|{n} more lines are not shown.
removed:
Run checks
Diagnostics
This code is invalid, used or expired. Get a new one; codes expire after a minute.
One-time code
Sign in
Sign in
Run this command to get a one-time code:
The server is not responding. Check that “planck serve” is still running.
Export {format}
Show less
Fork
was created as a fork
From
Keyboard shortcuts
Effect
{agent} needs your approval
Requested call
{n} question needs you|{n} questions need you
Decline
No pending questions.
Expires
{n} line is not shown in this preview. The call above is complete.|{n} lines are not shown in this preview. The call above is complete.
in {span}
This question was already answered or withdrawn.
Can't load questions without a connection.
More options
none
This call can only be allowed once.
no value
Question from {agent}
I opened the page
“Always allow” is saved for this project in {place}.
Reason for denying (sent to the agent)
The two answers below allow every call that matches:
Send
Preview
{agent} asks you
Reason
Use a broader rule:
Yes
Close a dialog or leave a text field
Write a message
Search
Show keyboard shortcuts
Pan the timeline
Move between agents or changes
Stop all agents
Zoom the timeline; 0 shows all
Type
asks you
Hover over a bar for details · ← → pan · + − zoom
Team timeline
Latest messages between agents
earlier
Agent status
tool
waiting
thinking
English
Español
Compacting the context…
Waiting for the provider's rate limit…
Still writing…
Loading…
System
Dark
Single-key shortcuts
Light
Notify me about questions when this tab is hidden
Theme
Preferences
Language
ask
prompt
response
Planck says this; the agent did not:
task
image: {alt}
Table
ask
full
Permission mode
plan
read-only
workspace
Testing…
No models are set up yet.
{input} in, {output} out per million tokens
Test
Models
default
{n}-token context
Responded in {time}
Show more
Changes
Conversation
Inbox
Main
This session
Sessions
Settings
Team
unknown
Check: {command}
Compacted the context of {name}: {before} → {after} tokens
{name} is being shut down
{name} ended: {reason}
Forked from another session at event {seq}
All agents were stopped
{name} was interrupted
Changes of {name} landed in the workspace: {count}
Changes of {name} are to land: {count}
Permission mode changed to {mode}
{name} switched to {model}
Changes of {name} did not land: {why}
Session renamed to {name}
Session resumed
All agents were rewound to event {seq}
Left alone, because it changed meanwhile: {path}
{name} started with {model}
The own view of {name} was removed: {why}
{name} works in its own view of the workspace
Automatic message to {name}:
Plan
{name} claimed “{text}”: contradicted by the log
Check failed: {command} · exit code {code}
Tests ran after the last change: {command} · exit code {code}
Check has no result: {command}
Check passed: {command}
{name} claimed “{text}”: proven by the log
Check was not allowed to run: {command}
{name} claimed “{text}”: files changed since
The last test run was before the last change: {command}
Proof
{name} claimed “{text}”: nothing in the log shows it
{n} file changed, and no test ran|{n} files changed, and no test ran
event {seq} of {head}
Previous event
Replay
Live
Next event
Pause
Position in the log
Play from here
Showing event {seq}, not the current state.
Try again
Steer the team…
Enter sends, Ctrl+Enter queues, Shift+Enter adds a line
Describe a task…
Your message
Queue
Send
Steer
Team
Send to
once
always
for this session
Matching messages
done
failed
interrupted
running
unreadable
needs you
Actions for {name}
No prompt yet
Delete…
No sessions yet. Describe a task above to start one.
Search sessions
fork of {name} at event {seq}
open
New session
No matching sessions.
Go to fork point
Rename
Delete permanently
Open in process {pid} on {host}
Sign out in this browser
Server
Version
Workspace
Base URL
Set up another model
provider default
The model responded and is saved as the default.
Set up a model
Test and save
New sessions use
Saved in a file that only you can read. It is never shown again.
API key
Model
Name
Other server…
Provider
Default model
The server must be OpenAI-compatible.
A short test request is sent before anything is saved.
Show all {n} lines
Duration
Skip to content
Budget (USD)
Starting…
Default
The tests fail. Find the cause and fix it.
No limit
Start
No model is set up yet. Setup takes about a minute.
What should the team do?
State
asks you
ended
failed: {kind}
failed
idle
stopping
thinking
{n} unread
waiting for {name}
done
in progress
pending
Stop
Agents
No agents have started yet.
Team activity
Check
No teams yet. Run “planck teams new ALIAS” to create one.
Ready
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
timed out
{n} command was not completely recorded, so some of its changes may stay|{n} commands were not completely recorded, so some of their changes may stay
{n} file restored. To reverse this undo:|{n} files restored. To reverse this undo:
Preview undo
Nothing to undo.
Undo preview
Undo {n} file|Undo {n} files
Select changes to undo.
Blocked
waits for
You`);var An=cs(`Permitir siempre
Permitir una vez
Permitir en esta sesión
Responder
Gasto: {spent} de {limit}
Agrupar por
Agente
Llamada
Turno
Comando completo
código de salida {code}
Salida
en ejecución
Cancelar
Herramientas en ejecución
Costo
entrada
Cambiar modelo…
ninguno aún
salida
caché leída
Tipo
Tokens
Sin leer
{used} de {all} tokens
Espera a
Contexto
caché escrita
por un comando
Aún no hay archivos modificados en esta sesión.
{n} archivo|{n} archivos
Sin diferencias: el registro no contiene lo que escribió esta llamada.
turno {n}
reversión
deshecho
Error
Correcto
Advertencia
Cerrar
Código
Código ({language})
{n} opción en uso|{n} opciones en uso
Configuración
Esta sesión está cerrada. Aún puedes leerla. Envía un mensaje para reabrirla.
Se perdió la conexión hace {span}. Reconectando… Aún puedes leer esta página.
Todos
Inicio de la sesión
Editar mensaje
Aún no hay mensajes. Describe una tarea para empezar.
Filtrar por agente
Buscar en esta sesión
Todos los agentes olvidan este mensaje y los siguientes. Los archivos no cambian.
Retroceder y enviar
{n} imagen adjunta|{n} imágenes adjuntas
Ningún mensaje coincide.
Cargando mensajes anteriores…
Solo retroceder
{n} paso|{n} pasos
Razonamiento
Ir a lo más reciente ↓
sin precio
{n} llamada sin precio conocido no está incluida|{n} llamadas sin precio conocido no están incluidas
Costo de esta sesión
llamada|llamadas
denegación|denegaciones
error|errores
llamada fallida|llamadas fallidas
archivo|archivos
mensaje|mensajes
permitido
denegado
Denegar
Denegar con motivo
Diferencias
agregado:
{n} línea más no se muestra.|{n} líneas más no se muestran.
eliminado:
Ejecutar diagnóstico
Diagnóstico
Este código no es válido, ya se usó o venció. Pide otro; los códigos vencen en un minuto.
Código de un solo uso
Iniciar sesión
Iniciar sesión
Ejecuta este comando para obtener un código de un solo uso:
El servidor no responde. Verifica que “planck serve” siga en ejecución.
Exportar {format}
Mostrar menos
Bifurcar
se creó como bifurcación
De
Atajos de teclado
Efecto
{agent} necesita tu aprobación
Llamada solicitada
{n} pregunta pendiente|{n} preguntas pendientes
Rechazar
No hay preguntas pendientes.
Vence
{n} línea no se muestra en esta vista previa. La llamada de arriba está completa.|{n} líneas no se muestran en esta vista previa. La llamada de arriba está completa.
en {span}
Esta pregunta ya se respondió o se retiró.
No se pueden cargar las preguntas sin conexión.
Más opciones
ninguno
Esta llamada solo se puede permitir una vez.
sin valor
Pregunta de {agent}
He abierto la página
“Permitir siempre” se guarda para este proyecto en {place}.
Motivo para denegar (se envía al agente)
Las dos respuestas siguientes permiten todas las llamadas que coincidan con:
Enviar
Vista previa
{agent} te pregunta
Motivo
Usar una regla más amplia:
Sí
Cerrar un diálogo o salir de un campo
Escribir un mensaje
Buscar
Mostrar los atajos de teclado
Desplazar la línea de tiempo
Moverse entre agentes o cambios
Detener a todos los agentes
Zoom de la línea de tiempo; 0 muestra todo
Tipo
te pregunta
Señala una barra para ver detalles · ← → mover · + − zoom
Línea de tiempo del equipo
Últimos mensajes entre agentes
antes
Estado de los agentes
herramienta
espera
pensando
English
Español
Compactando el contexto…
En espera por el límite de solicitudes del proveedor…
Sigue escribiendo…
Cargando…
Sistema
Oscuro
Atajos de una sola tecla
Claro
Notificarme las preguntas cuando esta pestaña esté oculta
Tema
Preferencias
Idioma
pregunta
instrucción
respuesta
Lo dice Planck, no el agente:
tarea
imagen: {alt}
Tabla
preguntar
total
Modo de permisos
plan
solo lectura
espacio de trabajo
Probando…
Aún no hay modelos configurados.
{input} de entrada, {output} de salida por millón de tokens
Probar
Modelos
predeterminado
{n} tokens de contexto
Respondió en {time}
Mostrar más
Cambios
Conversación
Bandeja
Principal
Esta sesión
Sesiones
Ajustes
Equipo
desconocido
Verificación: {command}
Se compactó el contexto de {name}: {before} → {after} tokens
{name} se está cerrando
{name} finalizó: {reason}
Bifurcación de otra sesión en el evento {seq}
Se detuvo a todos los agentes
Se interrumpió a {name}
Cambios de {name} incorporados al espacio de trabajo: {count}
Cambios de {name} por incorporar: {count}
El modo de permisos cambió a “{mode}”
{name} cambió a {model}
Los cambios de {name} no se incorporaron: {why}
La sesión ahora se llama {name}
Sesión reanudada
Todos los agentes retrocedieron al evento {seq}
Se dejó como estaba, porque cambió mientras tanto: {path}
{name} se inició con {model}
La vista propia de {name} se eliminó: {why}
{name} trabaja en su propia vista del espacio de trabajo
Mensaje automático para {name}:
Plan
{name} afirmó “{text}”: el registro lo contradice
Verificación fallida: {command} · código {code}
Las pruebas se ejecutaron después del último cambio: {command} · código {code}
Verificación sin resultado: {command}
Verificación correcta: {command}
{name} afirmó “{text}”: el registro lo demuestra
Verificación no permitida: {command}
{name} afirmó “{text}”: hubo cambios después
Las últimas pruebas fueron anteriores al último cambio: {command}
Comprobación
{name} afirmó “{text}”: el registro no lo muestra
{n} archivo cambió y no se ejecutó ninguna prueba|{n} archivos cambiaron y no se ejecutó ninguna prueba
evento {seq} de {head}
Evento anterior
Reproducción
En vivo
Evento siguiente
Pausar
Posición en el registro
Reproducir desde aquí
Se muestra el evento {seq}, no el estado actual.
Reintentar
Guía al equipo…
Enter envía, Ctrl+Enter pone en cola, Shift+Enter agrega una línea
Describe una tarea…
Tu mensaje
Poner en cola
Enviar
Guiar
Equipo
Enviar a
una vez
siempre
en esta sesión
Mensajes encontrados
completada
fallida
interrumpida
en curso
ilegible
pregunta
Acciones para {name}
Sin instrucciones aún
Eliminar…
Aún no hay sesiones. Describe una tarea arriba para empezar.
Buscar sesiones
bifurcación de {name} en el evento {seq}
abierta
Nueva sesión
Ninguna sesión coincide.
Ir al punto de bifurcación
Cambiar nombre
Eliminar definitivamente
Abierta en el proceso {pid} de {host}
Cerrar sesión en este navegador
Servidor
Versión
Espacio de trabajo
URL base
Configurar otro modelo
predeterminado del proveedor
El modelo respondió y se guardó como predeterminado.
Configurar un modelo
Probar y guardar
Las sesiones nuevas usan
Se guarda en un archivo que solo tú puedes leer. No se vuelve a mostrar.
Clave de API
Modelo
Nombre
Otro servidor…
Proveedor
Modelo predeterminado
El servidor debe ser compatible con OpenAI.
Se envía una breve solicitud de prueba antes de guardar.
Mostrar las {n} líneas
Duración
Ir al contenido
Presupuesto (USD)
Iniciando…
Predeterminado
Las pruebas fallan. Busca la causa y corrígela.
Sin límite
Iniciar
Aún no hay ningún modelo configurado. Configurarlo toma cerca de un minuto.
¿Qué debe hacer el equipo?
Estado
pregunta
finalizado
falló: {kind}
falló
inactivo
deteniéndose
pensando
{n} sin leer
espera a {name}
completado
en curso
pendiente
Detener
Agentes
Aún no se ha iniciado ningún agente.
Actividad del equipo
Verificar
Aún no hay equipos. Ejecuta “planck teams new ALIAS” para crear uno.
Listo
Equipos
Hora
hace {span}
hace un momento
A
{n} tokens
límite alcanzado
completado
fallido
interrumpido
tiempo agotado
{n} comando no se registró por completo y algunos de sus cambios pueden quedar|{n} comandos no se registraron por completo y algunos de sus cambios pueden quedar
{n} archivo restaurado. Para deshacer esta acción:|{n} archivos restaurados. Para deshacer esta acción:
Previsualizar
No hay nada que deshacer.
Vista previa
Deshacer {n} archivo|Deshacer {n} archivos
Selecciona qué deshacer.
Bloqueado
espera a
Tú`);var qn={en:ds,es:An},us=Object.keys(qn),_e="en",Dn,jn,Ot,ps,Pn,Nn;function ms(e){_e=[e,...globalThis.navigator?.languages||[]].map(o=>String(o||"").slice(0,2)).find(o=>us.includes(o))||"en";let s=o=>new Intl.DateTimeFormat(_e,{hourCycle:"h23",...o});return Dn=new Intl.PluralRules(_e),jn=new Intl.NumberFormat(_e),Ot=new Intl.NumberFormat(_e,{maximumFractionDigits:1}),ps=s({hour:"2-digit",minute:"2-digit"}),Pn=s({dateStyle:"medium",timeStyle:"medium"}),Nn=s({day:"numeric",month:"short"}),_e}ms("");function r(e,t={}){let[s,o=s]=(qn[_e][e]??e).split("|");return(Dn.select(t.n)==="one"?s:o).replace(/\{(\w+)\}/g,(a,i)=>{let l=t[i];return typeof l=="number"?V(l):String(l??"")})}var H=(e,t)=>Object.hasOwn(ds,`${e}.${t}`)?r(`${e}.${t}`):t,V=e=>jn.format(e),Rn=e=>e.toLocaleString(_e,{style:"percent"});function ve(e){return e<1e3?V(e):e<999950?`${Ot.format(e/1e3)}k`:`${Ot.format(e/1e6)}M`}function Se(e){let t=e>=.1||e===0?2:4;return`$${new Intl.NumberFormat(_e,{minimumFractionDigits:t,maximumFractionDigits:t}).format(e)}`}var Ae=(e,t)=>`${e?"≈ ":""}${Se(t)}`,Mt=({cost_usd:e,unpriced:t,estimated:s})=>t?e?`≥ ${Se(e)}`:r("cost.none"):Ae(s,e);function oe(e){let t=Math.max(0,Math.floor(e/1e3)),[s,o]=t<90?[1,"s"]:t<5400?[60,"min"]:t<172800?[3600,"h"]:[86400,"d"];return`${V(Math.floor(t/s))} ${o}`}var Ze=e=>e<1e4?`${Ot.format(e/1e3)} s`:oe(e),$e=e=>e?ps.format(new Date(e)):"",qe=e=>e?Pn.format(new Date(e)):"";function fs(e,t){let s=Date.parse(e);return s?t-s<6e4?r("time.now"):t-s<12*36e5?r("time.ago",{span:oe(t-s)}):`${Nn.format(s)} ${ps.format(s)}`:""}var ia=/[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu,ra=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]/g,la=/^[\x20-\x7e\n\t]*$/,B=e=>typeof e=="string"?e:(e??null)===null?"":JSON.stringify(e);function b(e){let t=B(e);return la.test(t)?t:t.replace(/\r\n/g,`
`).replace(ia,(s,o,a)=>{if(s==="‍"&&/\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u.test(a.slice(Math.max(0,o-8),o)))return s;let i=s.codePointAt(0);return i<256?`\\x${i.toString(16).padStart(2,"0")}`:`\\u${i.toString(16).padStart(4,"0")}`})}var De=e=>b(B(e).replace(ra,"").replace(/\r\n?/g,`
`));function w(e,t){let s=b(e).replace(/\s+/g," ").trim();if(s.length<=t)return s;let o=Array.from(s);if(o.length<=t)return s;let a=Math.floor((t-1)/3);return`${o.slice(0,t-1-a).join("")}…${a?o.slice(-a).join(""):""}`}var ca=new Set(un);function At(e){let t=[];for(let s of e)bs(t,s);return t}function Fe(e,t,s,o=400){for(let a=e.length-1;a>=Math.max(0,e.length-o);a-=1)if(t(e[a]))return e[a]={...e[a],...s(e[a])},e[a];return null}var hs=e=>typeof e=="number"?e:0,_s=({decision:e,by:t,words:s,reason:o,way_out:a})=>e==="deny"&&{text:B(t==="user"?s:o).split("; go on without it,")[0],wayOut:B(a)},gs=e=>t=>t.kind==="call"&&t.id===e;function bs(e,t){let{seq:s,ts:o,agent_id:a,turn:i,type:l}=t,c=typeof t.data=="object"&&t.data!==null?t.data:{},d=(h,f)=>e.push({seq:s,ts:o,agent:a||"",turn:i,kind:h,...f}),p=h=>h.kind==="turn"&&h.agent===a&&h.turn===i,u=(h,f,m)=>({id:B(c.id),name:B(c.name),subject:h,args:f,end:m,asked:null});switch(l){case"message":{let h=B(c.text);c.kind==="response"&&Fe(e,f=>f.kind==="said"&&f.agent===c.from,f=>({repeated:f.repeated||f.text===h&&!f.thinking}),8),d(c.from!=="user"?"mail":c.origin&&c.origin!=="user"?"told":"prompt",{mail:B(c.kind),from:B(c.from),to:B(c.to),text:h,runtime:c.origin==="planck"&&!!c.outcome,claims:ua(c.claims),images:Array.isArray(c.images)?c.images.length:0});break}case"assistant_message":{let h=Array.isArray(c.message?.parts)?c.message.parts:[],f=(y,k)=>h.filter(g=>g?.type===y).map(g=>B(g.text)).join(k),m=f("text",""),_=f("thinking",`
`);return(m||_)&&d("said",{text:m,thinking:_}),m}case"tool_start":d("call",u(ls(B(c.name),c.args),c.args,null));break;case"tool_end":{let h={ok:!!c.ok,output:B(c.output),exit:c.exit_code??null,ms:c.duration_ms||0,error:c.error?.kind||"",notice:c.notice||""};Fe(e,gs(c.id),()=>({end:h}))||d("call",u("",null,h));break}case"permission_request":Fe(e,gs(c.call_id),()=>({asked:{decision:""}}));break;case"permission_decision":Fe(e,gs(c.call_id),()=>({asked:{decision:B(c.decision),scope:B(c.scope),why:_s(c)}}))||d("note",{type:l,data:c});break;case"turn_start":d("turn",{cost:0,estimated:!1,steps:0,tokens:0});break;case"usage":{let{input_tokens:h=0,output_tokens:f=0,cache_read_tokens:m=0,cache_write_tokens:_=0}=c.usage||{};Fe(e,p,({cost:y,estimated:k,steps:g,tokens:$})=>({estimated:k||c.estimated===!0,cost:y===null||c.cost_usd===null?null:y+hs(c.cost_usd),steps:g+1,tokens:[h,f,m,_].map(hs).reduce((O,S)=>O+S,$)}));break}case"turn_end":d("end",{status:B(c.status),began:Fe(e,p,()=>({}),4e3)});break;case"rewound":{let h=hs(c.to);for(let m=e.length-1;m>=0&&e[m].seq>h;m-=1)e[m].agent===a&&(e[m]={...e[m],gone:!0});let f=e[e.length-1];(f?.type!==l||f.data.to!==h)&&d("note",{type:l,data:{to:h}});break}default:ca.has(l)&&d("note",{type:l,data:c})}return""}var da=["proven","stale","unsupported","contradicted"],ua=e=>(Array.isArray(e)?e:[]).map(t=>({text:B(t?.text),verdict:da.includes(t?.verdict)?t.verdict:"unsupported"}));var pa=4e4,Ln=500,ma=1e4,He=class{constructor(t,{state:s,...o}){Object.assign(this,{path:t,state:s,on:o,retry:Ln,closed:!1}),this.wake=()=>{document.visibilityState==="visible"&&this.isSilent()&&this.open()},this.back=()=>this.open(),document.addEventListener("visibilitychange",this.wake),addEventListener("online",this.back),this.watch=setInterval(()=>{this.source&&this.isSilent()&&this.fail()},5e3),this.open()}isSilent(){return Date.now()-this.heard>pa}open(){if(this.closed)return;this.drop(),this.heard=Date.now();let t=new EventSource(Le+this.path());this.source=t;let s=(o,a)=>t.addEventListener(o,i=>{this.heard=Date.now(),this.retry=Ln,a(i)});s("open",()=>this.state("live")),s("ping",()=>{}),s("end",()=>this.end());for(let[o,a]of Object.entries(this.on))s(o,i=>a(JSON.parse(i.data)));t.onerror=()=>{this.source===t&&this.fail(t.readyState===EventSource.CLOSED)}}async fail(t=!1){if(this.drop(),t&&await this.isOver()){this.end();return}this.closed||(this.state("lost"),clearTimeout(this.timer),this.timer=setTimeout(()=>this.open(),this.retry),this.retry=Math.min(this.retry*2,ma))}async isOver(){let t=new AbortController;try{return(await fetch(Le+this.path(),{headers:{accept:"text/event-stream"},signal:t.signal,cache:"no-store"})).status===204}catch{return!1}finally{t.abort()}}drop(){clearTimeout(this.timer),this.source?.close(),this.source=null}end(){this.close(),this.state("ended")}close(){this.closed=!0,this.drop(),clearInterval(this.watch),document.removeEventListener("visibilitychange",this.wake),removeEventListener("online",this.back)}};var qt=class{constructor(t,s){this.state=t,this.draw=s,this.queued=!1}set(t){Object.assign(this.state,t),this.touch()}touch(){this.queued||(this.queued=!0,requestAnimationFrame(()=>{this.queued=!1,this.draw(this.state)}))}},X=500,fa=250,ha=65536,ga=6e4,In=({text:e="",thinking:t="",output:s={}})=>({text:e,thinking:t,output:new Map(Object.entries(s)),note:null}),Qe=class e{constructor(t,s){Object.assign(this,{id:t,touch:s,status:"loading",problem:null,connection:"connecting",lostSince:0,board:Et(),events:[],first:0,blocks:[],facts:0,lanes:0,words:0,live:new Map,replay:null,older:!1,checkpoints:new Map([[0,Et()]]),pages:new Map,finished:"",offline:!1})}static of(t,s){let o=new e(s.id||"",()=>{});return Object.assign(o,{offline:!0,status:"ready",first:1,events:t.map(xt)}),o.board=Xe(o.events),o.rebuild(),o}async open(){try{let t=await Y(`/sessions/${this.id}/board`),s=Math.max(0,Math.floor((t.seq-1)/X)-1)*X,o=t.seq?await vt(this.id,{after:s,limit:4*X}):[];if(this.closed)return;this.first=s+1,this.events=o,this.board=Xe(o.filter(a=>a.seq>t.seq),t),this.rebuild(),this.status="ready",this.follow()}catch(t){Object.assign(this,{status:"error",problem:t})}this.touch()}follow(){this.hide=()=>{clearTimeout(this.hiding),document.visibilityState==="hidden"?this.hiding=setTimeout(()=>this.pause(),ga):this.stream||this.connect()},document.addEventListener("visibilitychange",this.hide),this.connect()}pause(){this.stream?.close(),this.stream=null}connect(){this.closed||(this.stream=new He(()=>`/sessions/${this.id}/events?after=${this.board.seq}`,{message:t=>this.hear(t),live:t=>this.join(t),reset:()=>this.onreset(),state:t=>{t==="lost"&&this.connection!=="lost"&&(this.lostSince=Me.now()),this.connection=t,this.touch()}}))}wake(){this.connection==="ended"&&this.connect()}hear(t){t.seq===null?this.hearDelta(t):t.seq>this.board.seq&&this.hearFact(xt(t))}hearFact(t){this.board=rs(this.board,t),t.seq%X===0&&this.checkpoints.set(t.seq,this.board),this.events.push(t);let s=bs(this.blocks,t);s&&(this.finished=s),this.facts+=1;let{agent_id:o,type:a,data:i}=t,l=this.live.get(o);l&&((a==="assistant_message"||a==="turn_end")&&Object.assign(l,{text:"",thinking:"",note:null}),a==="tool_end"&&l.output.delete(i.id),(a==="turn_end"||a==="agent_ended")&&this.live.delete(o)),this.drawLanes(),this.touch()}drawLanes(){if(this.waiting)return;let t=()=>{this.waiting=0,this.drawn=Date.now(),this.lanes+=1,this.touch()},s=(this.drawn||0)+fa-Date.now();s<=0?t():this.waiting=setTimeout(t,s)}hearDelta({agent_id:t,type:s,data:o}){this.live.has(t)||this.live.set(t,In({}));let a=this.live.get(t),i=(l,c)=>(l+c).slice(-ha);if(s==="text_delta")a.text=i(a.text,o.text);else if(s==="thinking_delta")a.thinking=i(a.thinking,o.text);else if(s==="tool_progress")a.output.set(o.id,i(a.output.get(o.id)||"",o.text));else if(s==="compacting")a.note={state:s};else if(s==="status"&&o.component==="model")o.state==="discarded"&&Object.assign(a,{text:"",thinking:""}),a.note=o.state==="discarded"||o.detail?o:null;else return;this.words+=1,this.touch()}join(t){this.live=new Map(Object.entries(t).map(([s,o])=>[s,In(o)])),this.words+=1,this.touch()}rebuild(){this.blocks=At(this.events),this.facts+=1,this.lanes+=1}async loadOlder(t=this.first-X){if(!(this.older||this.first<=1||this.offline)){this.older=!0,this.touch();try{let s=Math.max(0,Math.floor((Math.max(1,t)-1)/X)*X),o=[],a=s;for(;a<this.first-1;){let i=await vt(this.id,{after:a,before:Math.min(this.first,a+5001),limit:5e3});if(!i.length)break;o.push(...i),a=i[i.length-1].seq}this.events=[...o,...this.events],this.first=s+1,this.rebuild()}finally{this.older=!1,this.touch()}}}async show(t){let s=t===null||t>=this.board.seq?null:Math.max(1,t);this.asked=s;let o=null;if(s!==null){let a=Math.floor((s-1)/X)*X,[i,l]=await Promise.all([this.findCheckpoint(a),this.findPage(a)]);if(this.asked!==s||this.closed)return;let c=l.filter(d=>d.seq<=s);o={seq:s,board:Xe(c,i),events:[...this.pages.get(a-X)||[],...c]}}this.replay=o,this.lanes+=1,this.touch()}async findCheckpoint(t){if(!this.checkpoints.has(t)){let s=t;for(;s>0&&!this.checkpoints.has(s);)s-=X;let o=this.first-1<=s&&this.events.length;this.checkpoints.set(t,o?Xe(this.find(s,t),this.checkpoints.get(s)):await Y(`/sessions/${this.id}/board?at=${t}`))}return this.checkpoints.get(t)}find(t,s){return this.events.filter(o=>o.seq>t&&o.seq<=s)}async findPage(t){return this.first-1<=t?this.find(t,t+X):(this.pages.has(t)||this.pages.set(t,await vt(this.id,{after:t,before:t+X+1,limit:X})),this.pages.get(t))}close(){this.closed=!0,this.pause(),clearTimeout(this.waiting),clearTimeout(this.hiding),this.hide&&document.removeEventListener("visibilitychange",this.hide)}};var Bn=8,Z=(e,t)=>{if(t==="user")return r("you");let s=e.agents.find(o=>o.id===t);return s?s.name||s.type:t||r("nobody")},Dt=(e,t)=>{if(t==="user")return"you";let s=e.agents.findIndex(o=>o.id===t);return s<0?"none":`${s%Bn}${s>=Bn?" ring":""}`},_a={work:"●",tool:"●",waits:"◌",asks:"▲",idle:"○",failed:"✗",ended:"–"};function jt(e,t){let s=e.questions.find(a=>a.agent_id===t.id),o=(a,i,l=t.since)=>({kind:a,mark:_a[a],word:i,since:l});if(t.status==="ended")return t.ended==="failed"?o("failed",r("state.failed")):o("ended",r("state.ended"));if(t.stopping)return o("work",r("state.stopping"));if(s)return o("asks",r("state.asks"),s.since);if(t.waits.length&&t.status!=="idle"){let a=[...new Set(t.waits.map(i=>Z(e,i.on)))];return o("waits",r("state.waits",{name:w(a.join(", "),28)}),t.waits[0].since)}if(t.status==="executing_tools"&&t.calls.length){let a=t.calls[t.calls.length-1];return o("tool",w(`${a.name} ${a.subject}`,48),a.since)}return t.status!=="idle"?o("work",r("state.thinking")):t.error&&t.last_turn==="failed"?o("failed",r("state.error",{kind:t.error.kind})):t.last_turn==="capped"?o("failed",r("turn.capped")):t.unread.length?o("idle",r("state.unread",{n:t.unread.length})):o("idle",r("state.idle"))}var se=e=>e.status!=="ended"&&e.status!=="idle";function Fn(e){let t=[];for(let o of e.agents){let a=[o.id],i=o;for(;i&&se(i);){let l=i.waits[0]?.on;if(!l||a.includes(l))break;a.push(l),i=e.agents.find(c=>c.id===l)}a.length>t.length&&(t=a)}let s=e.agents.find(o=>o.id===t[t.length-1]);return t.length>1&&!(s&&se(s)&&!s.waits.length)?t:[]}var Hn={running:"●",waiting:"▲",done:"✓",failed:"✗",interrupted:"◼","":"?"};var Pt=["read-only","plan","ask","workspace","full"];function be({board:e,id:t,length:s=28}){let o=Z(e,t);return n("bdi",{class:"name",title:b(o)},w(o,s))}function ye({board:e,id:t}){let s=Array.from(w(Z(e,t),40))[0]||"?";return n("span",{class:`badge hue-${Dt(e,t)}`,"aria-hidden":"true"},s.toUpperCase())}var Ue=e=>[n(ye,{...e}),n(be,{...e})],Q=({is:e})=>n("span",{class:"mark","aria-hidden":"true"},e),Nt=({added:e,removed:t})=>n("span",{class:"num changed"},n("span",{class:"ok"},"+",V(e))," ",n("span",{class:"error"},"−",V(t))),ys=({ts:e})=>n("time",{class:"num muted",datetime:b(e),title:qe(e)},$e(e)),et=({word:e,mark:t,...s})=>n("button",{class:"icon","aria-label":r(e),...s},t),tt=({act:e})=>n(et,{word:"close",mark:"×",onClick:e}),st=()=>n("a",{class:"button ask",href:"#/inbox"},r("answer")),ae=({words:e,children:t})=>n("div",{class:"empty"},n("p",null,e),t),ne=({title:e,children:t,...s})=>n("details",{...s},n("summary",null,e),t),je=({children:e,label:t})=>n("pre",{class:"output",tabindex:"0","aria-label":t},e),ue=({rows:e,children:t})=>n("dl",{class:"facts"},e.filter(Boolean).map(([s,o,a],i)=>[n("dt",{key:i},s),n("dd",{...a},o)]),t),Ce=e=>t=>e(t.target.value),ie=e=>t=>(t.preventDefault(),e(Object.fromEntries(new FormData(t.target)),t.target)),pe=({label:e,children:t,hint:s})=>n("label",{class:"field"},n("span",{class:"label"},e),t,s&&n("span",{class:"hint"},s)),nt=({label:e,set:t,...s})=>n("label",{class:"check"},n("input",{type:"checkbox",onChange:o=>t(o.target.checked),...s})," ",e);function re({label:e,hidden:t,of:s,say:o=c=>w(c,48),none:a,set:i,...l}){let c=n("select",{title:t&&e,onChange:i&&Ce(i),...l},a&&n("option",{value:""},a),s.map(d=>n("option",{key:d,value:d},o(d))));return t?n("label",{class:"choice"},n("span",{class:"hidden"},e),c):n(pe,{label:e},c)}function ee(){let[e,t]=C(!1);return[e,async s=>{t(!0);try{return await s()}finally{t(!1)}}]}function We({since:e,now:t}){let s=t-Date.parse(e);return Number.isFinite(s)?n("span",{class:"num",title:qe(e)},oe(s)):null}function Rt({board:e,row:t,now:s}){let o=jt(e,t),a=["work","tool","waits","asks"].includes(o.kind);return n("span",{class:`state ${o.kind}`,title:b(o.word)},n(Q,{is:o.mark})," ",n("span",{class:"word"},o.word),a&&[" ",n(We,{since:o.since,now:s})])}var Lt=({state:e})=>n("span",{class:`state s-${e||"unknown"}`},n(Q,{is:Hn[e]||"?"})," ",n("span",{class:"word"},H("session",e||"unknown")));function ot(){let[e,t]=C(!1);return I(()=>{let s=setTimeout(()=>t(!0),200);return()=>clearTimeout(s)},[]),n("div",{class:"skeleton",role:"status"},n("span",{class:"hidden"},r("loading")),e&&[0,1,2,3].map(s=>n("div",{class:"bar",key:s})))}function ke({problem:e,retry:t}){let s=e?.kind||"internal_error",o=s==="network"&&!e.message?r("error.away"):b(e?.message||String(e));return n("div",{class:"problem",role:"alert"},n(Q,{is:"✗"}),n("div",null,n("p",null,n("strong",{class:"code"},b(s))," ",o),t&&n("button",{onClick:t},r("retry"))))}var me=({of:e,retry:t})=>n("div",{class:"pad"},e.status==="loading"?n(ot,null):n(ke,{problem:e.problem,retry:t}));function ks({text:e,lines:t=3,tail:s=!0,label:o}){let[a,i]=C(!1),l=e.replace(/\n+$/,"").split(`
`),c=l.length<=t+1&&e.length<2e3,d=(s?l.slice(-t):l.slice(0,t)).map(p=>p.length>400?`${p.slice(0,400)}…`:p);return n("div",null,n(je,{label:o},(a||c?l:d).join(`
`)),!c&&n("button",{class:"link","aria-expanded":a,onClick:()=>i(!a)},a?r("fold"):r("showAll",{n:l.length})))}function It(e){let t=[...e.currentTarget.querySelectorAll("[data-stop]:not(:disabled)")],s=t.indexOf(e.target.closest("[data-stop]")),o={ArrowDown:s+1,ArrowUp:s-1,Home:0,End:t.length-1}[e.key];if(o===void 0)return;e.preventDefault();let a=t[Math.min(Math.max(o,0),t.length-1)];for(let i of t)i.tabIndex=i===a?0:-1;a?.focus()}var ba={sessions:"M2 4h12M2 8h12M2 12h8",inbox:"M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",settings:"M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4"},Un=({size:e,path:t})=>n("svg",{width:e,height:e,viewBox:`0 0 ${e} ${e}`,"aria-hidden":"true"},n("path",{d:t})),Wn=e=>e?"page":void 0;function Vn({state:e,act:t}){let{sessionStore:s,route:o,inbox:a}=e,i=s?.status==="ready"&&s.board;return n("header",{class:"topbar"},n("a",{class:"brand",href:"#/sessions","aria-label":r("nav.sessions")},n(Un,{size:20,path:"M3 5h9M6 10h11M3 15h6"})),i&&n("div",{class:"where"},n("h1",{class:"clip",title:b(i.name)},n("bdi",null,w(i.name||s.id,32))),n(Lt,{state:i.state})),s?n("nav",{class:"tabs","aria-label":r("nav.session")},["team","conversation","changes"].map(l=>n("a",{key:l,href:`#/s/${s.id}/${l}`,"aria-current":Wn(o.tab===l)},r(`nav.${l}`)))):n("h1",{class:"clip"},r(`nav.${o.screen}`)),n("span",{class:"grow"}),i&&[n(re,{label:r("mode.label"),hidden:!0,of:[...new Set([i.mode,...Pt])].filter(Boolean),say:l=>H("mode",l),value:i.mode,set:l=>t.changeMode(l)}),n(ya,{board:i})],(i.state==="running"||i.state==="waiting")&&n("button",{class:"stop",onClick:()=>t.interrupt("")},r("stop")),n("nav",{class:"global","aria-label":r("nav.label")},Object.entries(ba).map(([l,c])=>{let d=l==="inbox"&&a.items.length;return n("a",{key:l,class:d?"has-mail":"",href:`#/${l}`,"aria-current":Wn(o.screen===l)},n(Un,{size:16,path:c}),n("span",{class:"label"},r(`nav.${l}`)),d>0&&n("span",{class:"pill num","aria-label":r("inbox.count",{n:d})},V(d)))})))}function ya({board:e}){let{limit_usd:t,spent_usd:s=0}=e.budget||{};if(!t)return n("span",{class:"budget num",title:e.unpriced?r("cost.unpriced",{n:e.unpriced}):r("cost.whole")},Mt(e));let o=Ae(e.estimated,s||0),a=r("budget",{spent:o,limit:Se(t)});return n("span",{class:`budget num${s>=.8*t?" near":""}`,title:a},n("progress",{max:"1",value:Math.min(1,s/t),"aria-label":a}),o," ",n("span",{class:"muted"},"/ ",Se(t)))}function zn({sessionStore:e,inbox:t,now:s}){if(e?.connection==="ended")return n("div",{class:"bar",role:"status"},r("conn.ended"));let o=[e,t].find(a=>a?.connection==="lost");return o?n("div",{class:"bar lost",role:"status"},r("conn.lost",{span:oe(s-o.lostSince)})):null}var Kn=({items:e,dismiss:t})=>n("div",{class:"toasts",role:"status","aria-live":"polite"},e.map(s=>n("div",{class:`toast ${s.kind}`,key:s.id},n("span",null,n("strong",{class:"code"},b(s.title))," ",b(s.words)),n(tt,{act:()=>t(s.id)})))),ka={"?":"keys.help",t:"nav.team",c:"nav.conversation",d:"nav.changes",i:"nav.inbox",s:"nav.sessions","/":"keys.find",m:"keys.compose","Shift X":"keys.stop","← →":"keys.pan","+ −":"keys.zoom","↑ ↓":"keys.rows",Esc:"keys.close"};function Gn({close:e}){let t=J(null);return I(()=>t.current.showModal(),[]),n("dialog",{class:"help",ref:t,onClose:e,"aria-labelledby":"help-title"},n("header",{class:"row"},n("h2",{id:"help-title",class:"grow"},r("help")),n(tt,{act:()=>t.current.close()})),n(ue,{rows:Object.entries(ka).map(([s,o])=>[n("kbd",null,s),r(o)])}))}var Jn=12,ws=3e3,wa=25e4;function at(e){let t=[],s=0,o=0,a=0,i=0,l="";for(let c of e.replace(/\n$/,"").split(`
`)){let d=/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(c),[p]=c;if(d)[s,a,o,i]=d.slice(1).map(u=>Number(u??1)),t.push({kind:"hunk",text:c});else if(p==="\\"||p==="[")t.push({kind:"hunk",text:c});else if(a<=0&&i<=0)/^(---|\+\+\+) [^/]/.test(c)&&(l=c.slice(6)),c.startsWith("+++")&&t.push({kind:"file",text:l});else{let u={kind:p==="+"?"add":p==="-"?"del":"same",text:c.slice(1)};p!=="+"&&([u.old,s,a]=[s,s+1,a-1]),p!=="-"&&([u.new,o,i]=[o,o+1,i-1]),t.push(u)}}return t}function vs(e,t){let[s,o]=[e,t].map(p=>p===""?[]:p.replace(/\n$/,"").split(`
`)),a=(p,u)=>u.map(h=>({kind:p,text:h}));if(s.length*o.length>wa)return[...a("del",s),...a("add",o)];let i=Array.from({length:s.length+1},()=>new Uint16Array(o.length+1));for(let p=s.length-1;p>=0;p-=1)for(let u=o.length-1;u>=0;u-=1)i[p][u]=s[p]===o[u]?i[p+1][u+1]+1:Math.max(i[p+1][u],i[p][u+1]);let l=[],c=0,d=0;for(;c<s.length&&d<o.length;)s[c]===o[d]?(l.push({kind:"same",text:s[c++]}),d+=1):i[c+1][d]>=i[c][d+1]?l.push({kind:"del",text:s[c++]}):l.push({kind:"add",text:o[d++]});return[...l,...a("del",s.slice(c)),...a("add",o.slice(d))]}var Yn=e=>({added:e.filter(t=>t.kind==="add").length,removed:e.filter(t=>t.kind==="del").length}),Ss=e=>e.filter(t=>t.kind==="file").length,xs={add:["+","diff.added"],del:["−","diff.removed"]};function Pe({rows:e,all:t=!1}){let[s,o]=C(t),a=Ss(e)>1,i=e.filter(d=>a||d.kind!=="file"),l=i.some(d=>d.old||d.new),c=d=>l&&n("td",{class:"ln","aria-hidden":"true"},d||"");return n("div",{class:"diff-box"},n("div",{class:"diff",tabindex:"0",role:"group","aria-label":r("diff")},n("table",null,n("tbody",null,i.slice(0,s?ws:Jn).map(({kind:d,...p},u)=>n("tr",{class:d,key:u},c(p.old),c(p.new),n("td",{class:"sign"},xs[d]?.[0],xs[d]&&n("span",{class:"hidden"},r(xs[d][1])," ")),n("td",null,De(p.text))))))),i.length>Jn&&!s&&n("button",{class:"link",onClick:()=>o(!0)},r("showAll",{n:i.length})),s&&i.length>ws&&n("p",{class:"strong"},r("diff.hidden",{n:i.length-ws})))}var Xn={agent:"agent",turn:"turn",call:"call_id"},Ne=e=>`${e.call_id}/${e.path}`,Zn=e=>r("changes.files",{n:new Set(e.map(t=>t.path)).size}),Qn=(e,t)=>e==="user"?r("you"):w(e,t);function eo({sessionStore:e,act:t,params:{agent:s,call:o}}){let[a,i]=C({status:"loading",items:[]}),[l,c]=C(o?"call":"agent"),[d,p]=C(""),[u,h]=C(null),[f,m]=C(null),[_,y]=C(null),[k,g]=ee(),$=`/sessions/${e.id}`,O=J(0),S=()=>{O.current+=1;let v=O.current,N=L=>{v===O.current&&i(L)};return Y(`${$}/changes`).then(({items:L})=>N({status:"ready",items:L}),L=>N({status:"error",items:[],problem:L}))};I(()=>{S()},[e,e.board.counts.file_changes]);let{items:x}=a;if(a.status!=="ready")return n(me,{of:a,retry:S});if(!x.length)return n(ae,{words:r("changes.empty")},n("a",{class:"button",href:`#/s/${e.id}/conversation`},r("nav.conversation")));let P=x.filter(v=>!v.undone&&(u?u.has(Ne(v)):v.call_id===o||v.agent===s)),R=x.find(v=>Ne(v)===d)||P[P.length-1]||x[x.length-1],z=[...Map.groupBy(x,v=>v[Xn[l]])],U=(v,{path:N})=>l==="agent"?Qn(v,28):l==="turn"?r("changes.turn",{n:v}):`${w(N.split("/").pop(),20)} · ${w(v,10)}`,we=(v,N)=>{let L=new Set(P.map(Ne));for(let F of v)L[N?"add":"delete"](Ne(F));h(L),m(null)},E=(v,N,L)=>{let F=v.filter(j=>!j.undone),q=F.filter(j=>P.includes(j)).length;return n("input",{type:"checkbox","data-stop":!0,tabindex:L?0:-1,"aria-label":N,disabled:!F.length,checked:q>0&&q===F.length,indeterminate:q>0&&q<F.length,onChange:({target:j})=>we(F,j.checked)})},D=v=>()=>g(()=>t.attempt(v)),W=D(async()=>m(await K(`${$}/undo/plan`,{selection:{files:P.map(v=>({call:v.call_id,path:v.path}))}}))),Te=D(async()=>{y(await K(`${$}/undo`,{plan_id:f.plan_id})),m(null),h(new Set),await S()}),T=v=>{let N=f?.conflicts.find(F=>F.path===v.path&&P.includes(v)),L=v.undone?r("changes.undone"):v.undoes.length?r("changes.undo"):"";return n("li",{class:`change${v===R?" on":""}`,key:Ne(v)},E([v],b(v.path)),n("button",{class:"grow","data-stop":!0,tabindex:"-1","aria-pressed":v===R,onClick:()=>{p(Ne(v)),m(null)}},n("span",{class:"code grow clip",title:b(v.path)},w(v.path,24)),L&&n("span",{class:"muted"},L),n(Nt,{...v}),N&&n("span",{class:"warn",title:b(N.reason)},"⚠")))};return n("div",{class:"changes"},n("section",{class:"changes-list","aria-label":r("nav.changes")},n("div",{class:"segmented",role:"group","aria-label":r("by")},Object.keys(Xn).map(v=>n("button",{key:v,"aria-pressed":l===v,onClick:()=>c(v)},r(`by.${v}`)))),n("div",{class:"row"},n("button",{disabled:k||!P.length,onClick:W},r("undo.look")),n("span",{class:"muted grow"},P.length?Zn(P):r("undo.tick"))),n("div",{onKeyDown:It},z.map(([v,N],L)=>n("section",{key:v,"aria-label":U(v,N[0])},n("h2",{class:"change"},E(N,U(v,N[0]),L===0),l==="agent"&&n(ye,{board:e.board,id:e.board.agents.find(F=>F.name===v)?.id||"user"}),n("bdi",{class:"grow"},U(v,N[0])),n("span",{class:"muted num"},Zn(N))),n("ul",{class:"plain"},N.map(T)))))),n("section",{class:"changes-diff","aria-label":b(R.path)},_&&n("p",{class:"box ok",role:"status"},r("undo.done",{n:_.files.length})," ",n("a",{class:"code",href:`#/s/${e.id}/changes?call=${_.call_id}`},w(_.call_id,12))),f?n(xa,{plan:f,busy:k,take:Te,leave:()=>m(null)}):[n("header",{class:"row"},n("h2",{class:"code grow clip",title:b(R.path)},w(R.path,60)),n("span",{class:"muted"},Qn(R.agent,24)," · ",r("changes.turn",{n:R.turn})," · ",n("span",{class:"code"},w(R.call_id,12)),R.by==="command"&&[" · ",r("changes.command")])),R.diff?n(Pe,{key:Ne(R),rows:at(R.diff),all:!0}):n("p",{class:"muted"},r("changes.lost"))]))}function xa({plan:e,busy:t,take:s,leave:o}){let a=at(e.diff);return n("section",{class:"undo","aria-label":r("undo.plan")},n("div",{class:"row"},n("h3",{class:"grow"},r("undo.plan")),n("button",{onClick:o},r("cancel")),n("button",{class:"primary",disabled:t||!e.diff,onClick:s},r("undo.take",{n:Ss(a)||1}))),e.conflicts.length>0&&n("ul",{class:"plain warn"},e.conflicts.map(i=>n("li",{key:i.path},"⚠ ",n("span",{class:"code"},b(i.path))," ",b(i.reason)))),e.diff?n(Pe,{rows:a}):n("p",{class:"muted"},r("undo.none")),e.commands.length>0&&n(ne,{title:r("undo.commands",{n:e.commands.length})},n("ul",{class:"plain"},e.commands.map((i,l)=>n("li",{class:"code",key:l},b(i))))))}var va=2e4,Sa=new Set(`and as assert async await break case catch class const continue def default defer del do elif else end enum except export extends
 False final finally fn for from func function go if impl import in interface is let lambda match mod mut new nil None nonlocal not null or package pass private
 protected public raise return self static struct super switch then this throw trait True true false try type typeof undefined use var void where while with yield`.split(/\s+/)),$a=/^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|conf|ini|console|)$/i,Ca={"+":"add","-":"del","@":"num"},Ea=["com","str","num"];function Ta(e,t){if(e.length>va||/^(text|txt|plain|output|log)$/i.test(t))return[["",e]];if(/^(diff|patch)$/i.test(t))return e.split(/(?<=\n)/).map(l=>[Ca[l[0]]||"",l]);let s=$a.test(t)?"#[^\\n]*":"//[^\\n]*|/\\*[^]*?(?:\\*/|$)",o=new RegExp(`(${s})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)|(\\b\\d[\\w.]*)|[A-Za-z_$][\\w$]*`,"g"),a=[],i=0;for(let l of e.matchAll(o)){let c=Ea[l.slice(1).findIndex(d=>d!==void 0)]||Sa.has(l[0])&&"kw";c&&(a.push(["",e.slice(i,l.index)],[c,l[0]]),i=l.index+l[0].length)}return[...a,["",e.slice(i)]]}var Oa=globalThis.requestIdleCallback||(e=>setTimeout(e,50));function to({code:e,language:t=""}){let s=J(null),[o,a]=C(null),i=b(e);return I(()=>{a(null);let l=new IntersectionObserver(c=>{c.some(d=>d.isIntersecting)&&(l.disconnect(),Oa(()=>s.current&&a(Ta(i,t))))});return l.observe(s.current),()=>l.disconnect()},[i,t]),n("pre",{class:"code-block",ref:s,tabindex:"0","aria-label":t?r("code.of",{language:t}):r("code")},n("code",null,o?o.map(([l,c],d)=>l?n("span",{class:`hl-${l}`,key:d},c):c):i))}var Ma=1e4,io=5;function so(e,t=0){let s=[],o=[],a="",i=t,l=t,c=()=>{o.length&&s.push({text:o.join(`
`),at:i}),o=[]};for(let d of e.slice(t).split(`
`)){o.length||(i=l),l+=d.length+1;let p=/^ {0,3}(`{3,}|~{3,})/.exec(d);a?(o.push(d),p&&p[1].startsWith(a)&&d.trim()===p[1]&&(a="",c())):p?(c(),i=l-d.length-1,a=p[1],o.push(d)):d.trim()?o.push(d):c()}return c(),s}function Aa(e){let t=e.trim();if(!/^(https?:\/\/|mailto:)/i.test(t)||b(t)!==t)return"";try{let{protocol:s}=new URL(t);return["http:","https:","mailto:"].includes(s)?t:""}catch{return""}}var no=(e,t)=>{let s=Aa(e);return s?n("a",{href:s,target:"_blank",rel:"noopener noreferrer nofollow",title:b(s)},t):n("span",null,t," ",n("span",{class:"muted"},"(",b(e),")"))},qa={"**":"strong",__:"strong","~~":"del","*":"em",_:"em"},Da=/(`+)|(\*\*|__|~~|[*_])|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|https?:\/\/[^\s<>()[\]{}"'`*]{1,1000}|\\([\\`*_{}[\]()#+\-.!~|>])/g;function Ee(e,t=0){if(t>io||e.length>Ma)return[b(e)];let s=[],o=new RegExp(Da.source,"g"),a=0,i=new Set,l=c=>{c>a&&s.push(b(e.slice(a,c)))};for(let c=o.exec(e);c;c=o.exec(e)){let[d,p,u,h,f,m,_]=c,y=c.index,k=y+d.length,g=null;if(p||u){let $=p||u,O=y+$.length,S=i.has($)?-1:e.indexOf($,O);S<0&&i.add($);let x=S>O?e.slice(O,S):"",P=$[0]==="_"&&(/\w/.test(e[y-1]||"")||/\w/.test(e[S+$.length]||""));x&&p?g=n("code",null,b(x.trim()||x)):x&&!P&&!/^\s|\s$/.test(x)&&(g=n(qa[$],null,Ee(x,t+1))),g&&(k=S+$.length)}else if(_)g=_;else if(m)g=no(m,h?r("md.image",{alt:b(f)}):Ee(f||m,t+2));else{let $=d.replace(/[.,;:!?]+$/,"");g=no($,b($)),k=y+$.length}o.lastIndex=k,g&&(l(y),s.push(g),a=k)}return l(e.length),s}var ro=/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;function oo(e){let t=[];for(let a of e){let i=ro.exec(a);i?t.push({depth:Math.min(4,Math.floor(i[1].replace(/\t/g,"  ").length/2)),ordered:/\d/.test(i[2]),number:parseInt(i[2],10),words:[i[3]]}):t.length&&t[t.length-1].words.push(a.trim())}let s=(a,i)=>{let l=[],c=a;for(;c<t.length&&t[c].depth>=i;){let p=t[c],[u,h]=c+1<t.length&&t[c+1].depth>p.depth?s(c+1,t[c+1].depth):[null,c+1],f=/^\[([ xX])\]\s+(.*)$/.exec(p.words[0]),m=(f?[`${f[1]===" "?"☐":"☑"} ${f[2]}`,...p.words.slice(1)]:p.words).join(`
`);l.push(n("li",null,Ee(m),u)),c=h}let d=t[a];return[d.ordered?n("ol",{start:d.number},l):n("ul",null,l),c]},o=[];for(let a=0;a<t.length;){let[i,l]=s(a,t[a].depth);o.push(i),a=l}return o}var ao=e=>e.trim().replace(/^\||\|$/g,"").split("|").slice(0,40).map(t=>t.trim());function ja(e){let t=ao(e[0]);return n("div",{class:"table-box",tabindex:"0",role:"region","aria-label":r("md.table")},n("table",null,n("thead",null,n("tr",null,t.map(s=>n("th",{scope:"col"},Ee(s))))),n("tbody",null,e.slice(2,500).map(s=>n("tr",null,ao(s).map(o=>n("td",null,Ee(o))))))))}function $s(e,t=0){let s=e.split(`
`),o=/^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/.exec(s[0]);if(o){let l=s.length>1&&s[s.length-1].trim().startsWith(o[1]);return n(to,{code:s.slice(1,l?-1:void 0).join(`
`),language:o[2]})}let a=/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(s[0]);if(a)return[n("p",null,n("strong",null,Ee(a[2]))),s.length>1&&$s(s.slice(1).join(`
`),t)];if(/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(s[0]))return n("hr",null);if(s[0].startsWith(">")&&t<io)return n("blockquote",null,$s(s.map(l=>l.replace(/^>\s?/,"")).join(`
`),t+1));if(s.length>1&&s[0].includes("|")&&/^[\s|:-]+$/.test(s[1])&&s[1].includes("-"))return ja(s);let i=s.findIndex(l=>ro.test(l));return i===0?oo(s):i>0&&i<s.length?[n("p",null,Ee(s.slice(0,i).join(`
`))),oo(s.slice(i))]:n("p",null,Ee(e))}var Bt=class extends le{shouldComponentUpdate({text:t}){return t!==this.props.text}render({text:t}){return n("div",{class:"md"},$s(t))}},Ve=class extends Bt{render({text:t}){let{before:s,blocks:o}=this,a=o?.length&&t.startsWith(s)?o[o.length-1].at:0;return this.blocks=a?[...o.slice(0,-1),...so(t,a)]:so(t),this.before=t,n("div",{class:"md"},this.blocks.map((i,l)=>n(Bt,{key:l,text:i.text})))}};function lo({sessionStore:e,board:t,asked:s}){let[o,a]=C(null),i=s&&!e.offline&&!t.agents.some(se)&&t.agents.length>0;I(()=>{let c=!1;return a(null),i&&Y(`/sessions/${e.id}/result?after=${s-1}`).then(d=>c||a(d),()=>{}),()=>{c=!0}},[e.id,s,i]);let l=o?.evidence?Pa(o):[];return l.length?n("section",{class:"box proof","aria-label":r("proof.title")},n("strong",null,r("proof.title")),n("ul",{class:"plain"},l.map(([c,d])=>n("li",{key:d},n("span",{class:c?"ok":"error","aria-hidden":"true"},c?"✓":"!")," ",b(d))))):null}function Pa({checks:e=[],evidence:t}){let s=e.map(i=>[i.ok,r(i.ok?"proof.passed":i.exit_code?"proof.failed":"proof.open",{command:w(i.command,120),code:i.exit_code})]);for(let i of t.claims)s.push([i.verdict==="proven",r(`proof.${i.verdict}`,{name:w(i.agent,24),text:w(i.text,120)})]);let o=t.files_changed.length;if(!o)return s;let a=t.commands.filter(i=>i.kind==="test").pop();return a?s.push([a.fresh&&a.exit_code===0,r(a.fresh?"proof.fresh":"proof.stale_test",{command:w(a.command,120),code:a.exit_code??"?"})]):s.push([!1,r("proof.untested",{n:o})]),s}var co=100,it=80,uo=320,Na=60,po=64,Cs={from:null,to:null},Ra=({state:e,detail:t})=>{let s=H("live",e);return s===e?b(t||e):s},Ts=e=>Object.hasOwn(ts,e)&&ts[e];function mo({sessionStore:e,act:t,seq:s=null,agent:o="",words:a,facts:i}){let[l,c]=C(o),[d,p]=C(""),[u,h]=C(o);if(I(()=>{o&&(c(o),h(o))},[o]),e.status!=="ready")return n(me,{of:e,retry:()=>t.reopen()});let{board:f}=e,m=f.agents.filter(y=>y.status!=="ended"),_=(y,k)=>n("button",{class:"chip",key:y,"aria-pressed":l===y,onClick:()=>c(l===y?"":y)},k);return n("div",{class:"conversation"},n("div",{class:"filters"},n("div",{class:"chips",role:"group","aria-label":r("conv.filter")},_("",r("conv.all")),f.agents.filter(y=>m.includes(y)||l===y.id).map(y=>_(y.id,n(Ue,{board:f,id:y.id,length:18})))),n("input",{id:"find",type:"search",value:d,placeholder:r("conv.find"),"aria-label":r("conv.find"),onInput:Ce(p)})),n(Os,{sessionStore:e,board:f,facts:i,words:a,only:l,find:d,seq:s,act:t}),t&&n(La,{busy:m.some(se),agents:m,to:u,choose:h,send:(y,k)=>t.prompt(y,k)}))}function La({busy:e,agents:t,to:s,choose:o,send:a}){let[i,l]=C(""),[c,d]=ee(),p=J(null),u=c||!i.trim(),h=e&&!s,f=async y=>{if(u)return;await d(()=>a(i,{...s&&{agent:s},...h&&!y&&{steer:!0}}))||(l(""),p.current&&(p.current.style.height="")),p.current?.focus()},m=y=>{y.key==="Escape"&&y.currentTarget.blur(),!(y.key!=="Enter"||y.shiftKey||y.isComposing)&&(y.preventDefault(),f(y.ctrlKey||y.metaKey))},_=({target:y})=>{l(y.value),y.style.height="auto",y.style.height=`${Math.min(y.scrollHeight+2,200)}px`};return n("form",{class:"composer",onSubmit:ie(()=>f(!1))},n("textarea",{id:"composer",ref:p,rows:"1",value:i,onInput:_,onKeyDown:m,"aria-label":r("say.label"),title:r("say.hint"),placeholder:r(e?"say.busy":"say.idle")}),n(re,{label:r("say.to"),hidden:!0,none:r("say.team"),of:t.map(y=>y.id),say:y=>w(t.find(k=>k.id===y).name,24),value:s,set:o}),h&&n("button",{type:"button",disabled:u,onClick:()=>f(!0)},r("say.queue")),n("button",{class:"primary",disabled:u},r(h?"say.steer":"say.send")))}function Ia(e,t,s,o){let{kind:a}=e;return a==="turn"||a==="end"&&e.status==="completed"&&(e.agent!==o||s||t)||t&&e.agent!==t&&e.from!==t&&e.to!==t?!1:s?[e.text,e.name,e.subject,e.end?.output].join(`
`).toLowerCase().includes(s):!e.repeated&&!(a==="call"&&Ts(e.name)==="message"&&e.end?.ok)}function Os({sessionStore:e,board:t,facts:s,words:o,only:a="",find:i="",seq:l=null,act:c,blocks:d=e.blocks}){let p=i.trim().toLowerCase(),u=t.agents[0]?.id,h=he(()=>d.filter(E=>Ia(E,a,p,u)),[s,a,p,d]),[f,m]=C({...Cs}),_=J(null),y=J(!0),k=J(null),g=J(0),$=E=>({from:Math.max(0,Math.min(E,h.length)-co-it),to:E>=h.length?null:E});if(g.current){let E=h.findIndex(D=>D.seq===g.current);g.current=0,Object.assign(f,$(E+1))}let O=f.to===null?h.length:Math.min(f.to,h.length),S=Math.max(0,f.from===null?O-co:Math.min(f.from,O)),x=J(null),P=h.reduce((E,D)=>D.kind==="prompt"?D.seq:E,0);I(()=>{x.current===null&&(m({...Cs}),y.current=!0)},[a,p,e,P]),I(()=>{l!==null&&(x.current=l,y.current=!1,l<e.first&&e.loadOlder(l))},[l,e]),bt(()=>{let{current:E}=_,D=W=>E.querySelector(`[data-seq="${W}"]`);if(x.current!==null&&x.current>=e.first){let W=h.findIndex(T=>T.seq>=x.current),Te=D(h[W]?.seq);Te?(x.current=null,E.scrollTop+=Te.getBoundingClientRect().top-E.getBoundingClientRect().top-E.clientHeight/3,Te.classList.add("found"),Te.querySelector("a,button,[tabindex]")?.focus({preventScroll:!0})):W>=0?m({from:Math.max(0,W-it),to:W+it}):x.current=null;return}if(k.current){let W=D(k.current.seq);W&&(E.scrollTop+=W.getBoundingClientRect().top-k.current.top),k.current=null}else y.current&&f.to===null&&(E.scrollTop=E.scrollHeight)});let R=()=>{let E=_.current.getBoundingClientRect().top,D=[..._.current.querySelectorAll("[data-seq]")].find(W=>W.getBoundingClientRect().bottom>E);k.current=D?{seq:D.dataset.seq,top:D.getBoundingClientRect().top}:null},z=()=>{let{current:E}=_,D=E.scrollHeight-E.scrollTop-E.clientHeight;if(y.current=D<Na&&f.to===null,E.scrollTop<200){if(S>0){R();let W=Math.max(0,S-it);m({from:W,to:O-W>uo?W+uo:f.to})}else if(e.first>1&&!e.older&&!e.offline){let W=h[O-1]?.seq;e.loadOlder().then(()=>{R(),g.current=W})}}else D<200&&f.to!==null&&(R(),m($(O+it)))},U=f.to===null&&!p?[...e.live].filter(([E,D])=>(!a||a===E)&&(D.text||D.thinking||D.note)):[],we=()=>{y.current=!0,m({...Cs}),_.current.scrollTop=_.current.scrollHeight};return n("div",{class:"thread-box"},n("div",{class:"thread",ref:_,onScroll:z,tabindex:"0",role:"log","aria-live":"off","aria-label":r("nav.conversation")},(e.older||S===0&&e.first<=1)&&n("p",{class:"muted center"},r(e.older?"conv.older":"conv.begin")),h.slice(S,O).map(E=>n(Es,{key:E.seq,block:E,board:t,size:t.agents.length,act:c,sessionStore:e,live:E.kind==="call"&&!E.end&&e.live.get(E.agent)?.output.get(E.id)||""})),!U.length&&!h.some(E=>E.kind!=="note")&&n(ae,{words:r(p||a?"conv.none":"conv.empty")},!c&&!e.offline&&!p&&!a&&n("a",{class:"button",href:`#/s/${e.id}/conversation`},r("nav.conversation"))),U.map(([E,D])=>n(Ht,{key:E,board:t,id:E,kind:"said live"},D.note&&n("p",{class:"muted"},Ra(D.note)),D.thinking&&!D.text&&n("p",{class:"thinking"},b(D.thinking.slice(-400))),D.text&&n(Ve,{text:D.text}))),f.to===null&&!p&&!a&&n(lo,{sessionStore:e,board:t,asked:P})),f.to!==null&&n("button",{class:"to-end",onClick:we},r("conv.toEnd")))}var Es=class extends le{shouldComponentUpdate(t){return["block","live","size","act"].some(s=>t[s]!==this.props[s])}render(t){let s={prompt:Ba,told:Fa,mail:Ha,said:Ua,call:Va,end:za,note:Ka}[t.block.kind];return n(s,{...t})}},Ft=({block:e,kind:t,children:s})=>n("article",{class:`block ${t}${e.gone?" gone":""}`,"data-seq":e.seq},s),Ht=({block:e={},board:t,id:s,kind:o,head:a,acts:i,children:l})=>n(Ft,{block:e,kind:o},n(ye,{board:t,id:s}),n("div",{class:"block-body"},n("header",{class:"block-head"},n(be,{board:t,id:s}),a,e.ts&&n(ys,{ts:e.ts}),i),l)),fo=({block:e,mark:t="·",bad:s,children:o})=>n(Ft,{block:e,kind:s?"note bad":"note"},n(Q,{is:t}),n("span",null,o," ",n(ys,{ts:e.ts})));function Ba({block:e,board:t,act:s,sessionStore:o}){let[a,i]=C(!1),[l,c]=C(e.text),d=t.agents[0]?.id!==e.to,p=async h=>{await s.goOnFrom(e.seq,h)||i(!1)},u=s&&!e.gone&&n("span",{class:"block-acts"},n("button",{class:"link",onClick:()=>s.fork(o.id,e.seq)},r("fork")),!d&&n("button",{class:"link","aria-expanded":a,onClick:()=>i(!a)},r("conv.edit")));return n(Ht,{block:e,board:t,id:"user",kind:"prompt",acts:u,head:d&&[n("span",{class:"muted","aria-hidden":"true"},"→"),n(be,{board:t,id:e.to})]},a?n("form",{class:"edit",onSubmit:ie(()=>p(l))},n("textarea",{rows:"4","aria-label":r("conv.edit"),value:l,onInput:Ce(c)}),n("p",{class:"muted"},r("conv.forget")),n("div",{class:"row end"},n("button",{type:"button",onClick:()=>i(!1)},r("cancel")),n("button",{type:"button",onClick:()=>p("")},r("conv.rewind")),n("button",{class:"primary",disabled:!l.trim()},r("conv.goOn")))):n("div",{class:"prose pre"},b(e.text)),e.images>0&&n("p",{class:"muted"},r("conv.images",{n:e.images})))}var Fa=({block:e,board:t})=>n(fo,{block:e},r("note.told",{name:w(Z(t,e.to),30)})," ",w(e.text,400));function Ha({block:e,board:t}){let s=n(Ve,{text:e.text});return n(Ht,{block:e,board:t,id:e.from,kind:"mail",head:[n("span",{class:`mail-kind ${e.mail}`},H("mail",e.mail)," ",n("span",{"aria-hidden":"true"},"→")),n(Ue,{board:t,id:e.to})]},e.runtime&&n("p",{class:"muted"},r("mail.runtime")),e.text.length>600?n(ne,{title:w(e.text,200)},s):s,e.claims.map(({verdict:o,text:a})=>n("p",{key:a,class:o==="proven"?"muted":"error"},r(`proof.${o}`,{name:w(Z(t,e.from),24),text:w(a,120)}))))}var Ua=({block:e,board:t})=>n(Ht,{block:e,board:t,id:e.agent,kind:"said"},e.thinking&&n(ne,{title:r("conv.thinking")},n("div",{class:"thinking pre"},b(e.thinking))),e.text&&n(Ve,{text:e.text}));function Wa({name:e,args:t}){if(Ts(e)!=="diff")return null;let{old_string:s,new_string:o,content:a}=Object(t);return typeof a=="string"?vs("",a):typeof s=="string"&&typeof o=="string"?vs(s,o):null}function Va({block:e,board:t,act:s,live:o}){let{end:a,asked:i,name:l,subject:c}=e,d=he(()=>Wa(e),[e.args]),[p,u,h]=a?a.ok?["ok","✓",r("step.completed")]:["error","✗",r("state.failed")]:["","●",r("call.runs")],f=ho(i?.why),m=f&&a?"":De(a?a.output:o),_=Ts(l),y=a?.ok&&(d||_==="message"||_==="whole"),k=[a?.ms>=100&&Ze(a.ms),!!a?.exit&&r("call.exit",{code:a.exit}),a?.error,f||i?.decision&&`${H("decision",i.decision)}${i.scope?` (${H("scope",i.scope)})`:""}`].filter(Boolean),g=r("call.output");return n(Ft,{block:e,kind:a&&!a.ok?"call bad":"call"},n("div",{class:"block-body"},n("header",{class:"call-head"},n("span",{class:`mark ${p}`},n("span",{"aria-hidden":"true"},u),n("span",{class:"hidden"},h)),n(be,{board:t,id:e.agent,length:18})," ",n("span",{class:"code strong"},w(l,40))," ",n("span",{class:"code",title:b(c)},w(c,po)),d&&n(Nt,{...Yn(d)}),k.map($=>n("span",{class:"muted num",key:$},b($))),i&&!i.decision&&!a&&[n("span",{class:"state asks"},n(Q,{is:"▲"})," ",r("state.asks")),s&&n(st,null)]),d&&n(ne,{title:r("diff")},n(Pe,{rows:d})),fn.includes(l)&&c.length>po&&n(ne,{title:r("call.command")},n(je,null,b(e.args?.command))),m&&!y&&(a?.ok&&(_==="count"||_==="nothing")?n(ne,{title:g},n(ks,{text:m,lines:12,tail:!1,label:g})):n(ks,{text:m,label:g})),a?.notice&&n("p",{class:"muted"},b(a.notice))))}function ho(e){if(!e)return"";let t=[H("decision","deny"),e.text].filter(Boolean).join(": ");return e.wayOut?`${t.replace(/\.$/,"")}. ${e.wayOut}`:t}function za({block:e,board:t}){let{began:s,status:o}=e,a=o!=="completed",i=[a&&`✗ ${w(Z(t,e.agent),24)}`,H("turn",o)];return s&&i.push(r("conv.steps",{n:s.steps}),r("tokens",{n:ve(s.tokens)}),s.cost!==null&&Ae(s.estimated,s.cost),Ze(Date.parse(e.ts)-Date.parse(s.ts))),n(Ft,{block:e,kind:a?"turn-end bad":"turn-end"},n("span",{class:"num"},i.filter(Boolean).join(" · ")))}function Ka({block:e,board:t}){let{data:s,type:o}=e,a=(p,u=300)=>typeof p=="string"?w(p,u):"",i=w(Z(t,e.agent),30),l=p=>a(p?.id||p?.model),c=()=>r(`note.${o}`,Object.fromEntries([["name",i],...Object.entries(s).map(([p,u])=>[p,a(u)||u])])),d=({session_resumed:()=>r("note.resumed"),agent_started:()=>r("note.started",{name:a(s.agent?.name,30),model:l(s.agent?.model)}),agent_ended:()=>r("note.ended",{name:i,reason:a(s.reason)}),compacted:()=>r("note.compacted",{name:i,before:ve(s.tokens_before||0),after:ve(s.tokens_after||0)}),forked:()=>r("note.forked",{seq:V(s.at||0)}),rewound:()=>r("note.rewound",{seq:V(s.to||0)}),mode_changed:()=>r("note.mode",{mode:H("mode",a(s.mode))}),model_changed:()=>r("note.model",{name:i,model:l(s.model)}),renamed:()=>r("note.renamed",{name:a(s.name)}),error:()=>`${a(s.kind)}: ${a(s.message)}`,control:()=>r(s.action==="halt"?"note.halted":s.action==="destroy"?"note.destroyed":"note.interrupted",{name:w(Z(t,s.target),30)}),permission_decision:()=>`${a(s.tool)}: ${ho(_s(s))||H("decision",a(s.decision))}`,checked:()=>r(s.ok?"proof.passed":s.refused?"proof.refused":s.exit_code?"proof.failed":"proof.open",{command:a(s.command,120),code:s.exit_code}),landing_proposed:()=>r("note.landing",{name:i,count:V((s.paths||[]).length)}),landing_finished:()=>r("note.landed",{name:i,count:V(s.paths||0)}),landing_refused:()=>r("note.refused",{name:i,why:[a(s.why),...(s.conflicts||[]).slice(0,5).map(p=>a(p.path))].join(", ")}),landing_skipped:()=>r("note.skipped",{path:a(s.path)})}[o]||c)();return n(fo,{block:e,bad:o==="error"||o==="checked"&&!s.ok,mark:o==="error"?"✗":"·"},d)}function go({state:{inbox:e,now:t,sessions:s},act:o}){I(()=>{o.loadSessions("")},[]);let a=({session_id:i})=>s.items.find(l=>l.id===i)?.name||i;return n("div",{class:"page inbox"},n("h2",{class:"hidden"},r("nav.inbox")),e.ready?!e.items.length&&n(ae,{words:r("inbox.empty")},n("a",{class:"button",href:"#/sessions"},r("nav.sessions"))):e.connection==="lost"?n(ae,{words:r("inbox.lost")}):n(ot,null),e.items.map(i=>n(i.asks==="form"||i.asks==="page"?Ja:Ga,{key:i.id,one:i,now:t,act:o,session:a(i)})))}function Ga({one:e,now:t,act:s,session:o}){let[a,i]=ee(),[l,c]=C(null),[d,p]=C(""),[u,h]=C(!1),f=(g,$)=>i(async()=>c(await s.answer(e,g,$))),m=Date.parse(e.deadline)-t,_=u&&e.wider,y=_?{rule:_}:{},k=(g,$,O,S)=>n("button",{class:"big",disabled:a,onClick:()=>f($,O),...S},g);return n("article",{class:"question","aria-label":r("inbox.of",{agent:b(e.agent)})},n("header",null,n(Q,{is:"▲"}),n("h3",{class:"grow"},r("inbox.asks",{agent:w(e.agent,60)})),n("a",{href:`#/s/${e.session_id}/team`},n("bdi",null,w(o,20))),n("span",{class:"muted"},n(We,{since:e.asked,now:t}))),!e.text.startsWith(e.tool)&&n("p",{class:"strong code"},b(e.tool)),n(je,{label:r("inbox.call")},b(e.text)),/^@@ /m.test(e.preview)?n(Pe,{rows:at(De(e.preview).replace(/^[^]*?(?=^(?:---|@@) )/m,""))}):e.preview&&n(ne,{title:r("inbox.shown")},n(je,null,De(e.preview))),e.hidden_lines>0&&n("p",{class:"strong"},r("inbox.hidden",{n:e.hidden_lines})),n(ue,{rows:[[r("inbox.adds"),b(e.adds)||r("inbox.none")],[r("inbox.why"),b(e.reason)],m>0&&[r("inbox.expires"),r("inbox.in",{span:oe(m)}),{class:"num"}]]}),l&&n("p",{class:"error",role:"alert"},l.kind==="writer_conflict"?r("inbox.late"):b(l.message)),n("div",{class:"answers"},k(r("deny"),!1,d?{reason:d}:{}),k(r("allowOnce"),!0,{scope:"once"},{class:"big primary"})),n(ne,{class:"more-answers",title:r("inbox.more")},e.rule?[n("p",null,r("inbox.rule")," ",n("code",null,b(_||e.rule))),e.wider&&n(nt,{checked:u,set:h,label:[r("inbox.wider")," ",n("code",null,b(e.wider))]}),n("div",{class:"answers"},k(r("allowSession"),!0,{scope:"session",...y}),k(r("allowAlways"),!0,{scope:"rule",...y})),e.place&&n("p",{class:"muted"},r("inbox.place",{place:b(e.place)}))]:n("p",{class:"muted"},r("inbox.noRule")),n(pe,{label:r("inbox.reason")},n("textarea",{rows:"2",value:d,maxlength:"10000",onInput:Ce(p)})),k(r("denyReason"),!1,{reason:d},{disabled:a||!d.trim()})))}function Ja({one:e,now:t,act:s,session:o}){let[a,i]=ee(),[l,c]=C(null),d=(u,h)=>i(async()=>c(await s.answer(e,u,h))),p=Date.parse(e.deadline)-t;return n("article",{class:"question","aria-label":r("inbox.of",{agent:b(e.agent)})},n("header",null,n(Q,{is:"▲"}),n("h3",{class:"grow"},r("inbox.wants",{agent:w(e.agent,60)})),n("a",{href:`#/s/${e.session_id}/team`},n("bdi",null,w(o,20))),n("span",{class:"muted"},n(We,{since:e.asked,now:t}))),n(je,null,b(e.text)),e.url&&n("p",{class:"code"},n("a",{href:e.url,target:"_blank",rel:"noopener noreferrer"},b(e.url))),n(ue,{rows:[[r("inbox.adds"),b(e.adds)],[r("inbox.why"),b(e.reason)],p>0&&[r("inbox.expires"),r("inbox.in",{span:oe(p)}),{class:"num"}]]}),n("form",{class:"stack",onSubmit:ie((u,h)=>d(!0,{content:Xa(e.fields,u,h)}))},e.fields.map((u,h)=>n(Ya,{key:u.name,field:u,name:`f${h}`})),l&&n("p",{class:"error",role:"alert"},l.kind==="writer_conflict"?r("inbox.late"):b(l.message)),n("div",{class:"answers"},n("button",{type:"button",class:"big",disabled:a,onClick:()=>d(!1,{})},r("inbox.decline")),n("button",{class:"big primary",disabled:a},r(e.url?"inbox.opened":e.fields.length?"inbox.send":"inbox.yes")))))}function Ya({field:e,name:t}){let{kind:s,required:o,choices:a,default:i}=e,l=`${b(e.label)}${o?" *":""}`,c=b(e.about);if(s==="boolean")return n("label",{class:"check"},n("input",{type:"checkbox",name:t,defaultChecked:i===!0})," ",l,c&&[" ",n("span",{class:"hint"},c)]);if(s==="choices")return n("fieldset",null,n("legend",null,l),c&&n("p",{class:"hint"},c),a.map(({value:h,label:f})=>n("label",{class:"check",key:h},n("input",{type:"checkbox",name:t,value:h,defaultChecked:(i||[]).includes(h)})," ",b(f))));let d=i??"";if(s==="choice")return n(pe,{label:l,hint:c},n("select",{name:t,required:o},n("option",{value:""},r("inbox.noValue")),a.map(({value:h,label:f})=>n("option",{key:h,value:h,selected:h===d},b(f)))));let p=s==="number"||s==="integer",u=p?{min:e.least,max:e.most,step:s==="integer"?1:"any"}:{minlength:e.least,maxlength:e.most};return n(pe,{label:l,hint:c},n("input",{type:p?"number":"text",name:t,required:o,defaultValue:d,autocomplete:"off",...u}))}function Xa(e,t,s){let o=e.map(({name:a,kind:i},l)=>{let c=t[`f${l}`];return i==="boolean"?[a,c!==void 0]:c?i==="choices"?[a,new FormData(s).getAll(`f${l}`)]:[a,i==="number"||i==="integer"?Number(c):c]:null});return Object.fromEntries(o.filter(Boolean))}function Ms({state:e,act:t}){let{sessions:s,now:o,notices:a}=e,[i,l]=C(""),[c,d]=C(null),[p,u]=C(!1);I(()=>{let m=!1,_=setTimeout(async()=>{t.loadSessions(i);let y=i.trim().length<2?null:await Y(`/search${Je({q:i.trim(),limit:30})}`).then(({items:k})=>k,()=>[]);m||d(y)},i?200:0);return()=>{m=!0,clearTimeout(_)}},[i]);let{items:h}=s,f=s.status==="ready"&&!h.length;return n("div",{class:"page"},a.map((m,_)=>n("p",{class:"box",key:_},b(m))),n("div",{class:"row"},n("input",{id:"find",type:"search",class:"grow",value:i,placeholder:r("sessions.find"),"aria-label":r("sessions.find"),onInput:Ce(l)}),n("button",{class:"primary","aria-expanded":p,onClick:()=>u(!p)},r("sessions.new"))),(p||f&&!i)&&n(ti,{state:e,act:t}),s.status!=="ready"&&n(me,{of:s,retry:()=>t.loadSessions(i)}),f&&(i?n(ae,{words:r("sessions.none")}):!p&&n("p",{class:"muted center"},r("sessions.empty"))),h.length>0&&n("ul",{class:"list","aria-label":r("nav.sessions")},Za(h).map(([m,_,y])=>n(Qa,{key:m.id,one:m,depth:_,parent:y,now:o,act:t}))),s.next&&n("button",{onClick:()=>t.moreSessions(i)},r("more")),c&&n("section",{"aria-label":r("search.label")},n("h2",null,r("search.label")),c.length===0?n("p",{class:"muted"},r("conv.none")):n("ul",{class:"list hits"},c.map(m=>n("li",{key:`${m.session_id}/${m.seq}`},n("a",{href:`#/s/${m.session_id}/conversation/${m.seq}`},n("span",{class:"small"},n("bdi",null,w(m.session_name,28))," · ",n("bdi",null,w(m.agent,20))," ",n("span",{class:"muted num"},fs(m.ts,o))),n("span",null,w(m.excerpt,240))))))))}function Za(e){let t=new Map(e.map(i=>[i.id,i])),s=Map.groupBy(e,i=>i.parent),o=new Map,a=(i,l)=>{if(!o.has(i.id)){o.set(i.id,[i,l,t.get(i.parent)]);for(let c of s.get(i.id)||[])a(c,l+1)}};for(let i of e){let l=i;for(let c=e.length;c>0&&t.has(l.parent);c-=1)l=t.get(l.parent);a(l,0)}return[...o.values()]}function Qa({one:e,depth:t,parent:s,now:o,act:a}){let[i,l]=C(!1);return n("li",{class:`session-row fork-${Math.min(t,4)}`},n("a",{class:"session-main",href:`#/s/${e.id}/team`},n("span",{class:"row"},n("bdi",{class:"strong grow",title:b(e.name)},w(e.name,36))," ",n(Lt,{state:e.state})),n("span",{class:"clip"},w(e.first_prompt,160)||n("span",{class:"muted"},r("sessions.blank"))),n("span",{class:"session-facts muted"},e.parent&&n("span",null,"↳ ",r("sessions.fork",{name:w(s?.name||e.parent,28),seq:e.forked_at})),e.team&&n("span",null,w(e.team.split("/").pop(),24)),n("span",{class:"code"},w(e.model,28)),n("span",{class:"num"},e.cost_usd===null?r("cost.none"):Ae(e.estimated,e.cost_usd)),n("time",{class:"num",datetime:b(e.updated),title:qe(e.updated)},fs(e.updated,o)),e.holder&&n("span",{title:r("sessions.where",{host:b(e.holder.host),pid:e.holder.pid})},r("sessions.held")))),n("button",{class:"icon","aria-expanded":i,"aria-label":r("sessions.acts",{name:b(e.name)}),onClick:()=>l(!i)},"⋯"),i&&n(ei,{one:e,act:a,done:()=>l(!1)}))}function ei({one:e,act:t,done:s}){let[o,a]=C(!1),i=l=>async c=>{await l(c),s()};return n("div",{class:"row-acts"},n("form",{class:"row",onSubmit:ie(i(({name:l})=>t.rename(e.id,l)))},n("input",{name:"name",class:"grow","aria-label":r("sessions.rename"),defaultValue:e.name,maxlength:"100"}),n("button",null,r("sessions.rename"))),n("div",{class:"row"},n("button",{onClick:()=>t.fork(e.id)},r("fork")),e.parent&&n("a",{class:"button",href:`#/s/${e.parent}/conversation/${e.forked_at}`},r("sessions.origin")),["md","html","ndjson"].map(l=>n("a",{class:"button",key:l,download:!0,href:`${Le}/sessions/${e.id}/export?format=${l}`},r("export",{format:l}))),o?n("button",{class:"danger",onClick:i(()=>t.deleteSession(e.id))},r("sessions.sure")):n("button",{onClick:()=>a(!0)},r("sessions.delete"))))}function ti({state:{models:e,teams:t},act:s}){let[o,a]=ee(),[i,l]=C(null);I(()=>s.loadPlace(),[]);let c=p=>a(async()=>l(await s.start(p)));if(e.status==="ready"&&!e.items.some(p=>p.has_key||p.source!=="catalog"))return n(ae,{words:r("start.none")},n("a",{class:"button primary",href:"#/settings"},r("setup.first")));let d=(p,u,h,f)=>n(re,{name:p,label:u,none:r("start.default"),of:h,say:f});return n("form",{class:"start",onSubmit:ie(c),"aria-label":r("sessions.new")},n(pe,{label:r("start.prompt")},n("textarea",{name:"prompt",rows:"3",required:!0,placeholder:r("start.example")})),n("div",{class:"options"},d("team",r("nav.team"),t.items.filter(p=>!p.problem).map(p=>p.alias),p=>w(t.items.find(u=>u.alias===p).name||p,40)),d("model",r("setup.model"),e.items.map(p=>p.id)),d("mode",r("mode.label"),Pt,p=>H("mode",p)),n(pe,{label:r("start.budget")},n("input",{name:"max_budget_usd",type:"number",min:"0.01",step:"0.01",inputmode:"decimal",placeholder:r("start.free")}))),i&&n(ke,{problem:i}),n("div",{class:"row end"},n("button",{class:"primary",disabled:o},r(o?"start.busy":"start.go"))))}var _o={anthropic:"Anthropic",openai:"OpenAI",google:"Google"},si={ok:"✓",warning:"▲",error:"✗"};function yo({state:e,act:t}){let{models:s,teams:o,me:a}=e;return I(()=>t.loadPlace(),[]),n("div",{class:"page settings"},n(ni,{models:s,act:t}),n(oi,{state:e,act:t}),n(bo,{title:r("models.title"),empty:r("models.empty"),of:s,Row:ai,act:t}),n(bo,{title:r("teams.title"),empty:r("teams.empty"),of:o,Row:ii,act:t}),n(ri,null),n(li,null),n("section",null,n("h2",null,r("set.server")),n(ue,{rows:[[r("set.version"),b(a.version),{class:"num"}],[r("set.workspace"),b(a.workspace),{class:"code"}]]}),n("button",{onClick:()=>t.leave()},r("set.leave"))))}function As(e,t,s){let[o,a]=C(null);return I(()=>{Y(e).then(i=>a(t(i)),()=>{})},[s]),o}function ni({models:e,act:t}){let s=e.status==="ready"&&!e.items.some(g=>g.current||g.has_key||g.source!=="catalog"),[o,a]=C(!1),[i,l]=C("anthropic"),[c,d]=C(null),[p,u]=ee(),h=As("/models?all=true",({items:g})=>g)||[],f=As("/config",g=>g.default_model,c),m=i==="other",_=({name:g,model:$,key:O,base_url:S},x)=>u(async()=>{d(null);let P={provider:m?g:i,...$&&{model:$},...O&&{key:O},...m&&{base_url:S}},R=await t.attempt(async()=>{let z=await K("/setup",P);d(z),z.ok&&(x.reset(),a(!1),t.loadPlace())});R&&d({ok:!1,error:R})}),y=c?.ok&&n("p",{class:"box ok",role:"status"},r("setup.done"));if(!s&&!o)return n("section",null,n("h2",null,r("setup.title")),y,n("p",null,r("setup.have")," ",n("span",{class:"code strong"},w(f||e.items.find(g=>g.current)?.id,60))),n("button",{onClick:()=>a(!0)},r("setup.change")));let k=(g,$,O,S)=>n(pe,{label:$,hint:S},n("input",{name:g,autocomplete:"off",...O}));return n("section",{class:"setup"},n("h2",null,r(s?"setup.first":"setup.title")),n("p",{class:"muted"},r("setup.words")),n("form",{class:"start",onSubmit:ie(_)},n(re,{label:r("setup.provider"),of:[...Object.keys(_o),"other"],say:g=>_o[g]||r("setup.other"),value:i,set:l}),m&&[k("name",r("setup.name"),{required:!0,pattern:"[A-Za-z0-9_\\-]{1,64}"}),k("base_url",r("setup.address"),{type:"url",required:!0},r("setup.where"))],k("key",r("setup.key"),{type:"password",required:!m},r("setup.kept")),k("model",r("setup.model"),{list:"setup-models",required:m,placeholder:m?"":r("setup.default")}),n("datalist",{id:"setup-models"},h.filter(g=>g.provider===i).map(g=>n("option",{key:g.id,value:g.model}))),y,c&&!c.ok&&n(ke,{problem:c.error}),n("div",{class:"row end"},n("button",{class:"primary",disabled:p},r(p?"models.busy":"setup.go")))))}var oi=({state:e,act:t})=>n("section",null,n("h2",null,r("look.title")),n("div",{class:"options"},n(re,{label:r("look.theme"),of:["auto","light","dark"],say:s=>r(`look.${s}`),value:e.theme,set:s=>t.setLook({theme:s})}),n(re,{label:r("look.words"),of:us,say:s=>r(`language.${s}`),value:e.language,set:s=>t.setLook({language:s})})),n(nt,{label:r("look.notify"),checked:t.notifies,set:s=>t.setNotify(s)}),n(nt,{label:r("look.keys"),checked:e.keys==="on",set:s=>t.setLook({keys:s?"on":"off"})}));function ko(e){let[t,s]=C(null),[o,a]=ee();return[o?null:t,o,()=>a(()=>e().then(s,i=>s({ok:!1,error:i,problems:[i.message||r("error.away")]})))]}function wo({children:e,problem:t,ask:s,word:o,good:a}){let[i,l,c]=ko(s),d=[t,...i&&!i.ok?i.problems||[`${i.error.kind} ${i.error.message}`]:[]].filter(Boolean);return n("li",{class:"place-row"},n("span",{class:"grow"},e,d.map((p,u)=>n("span",{class:"error small",role:"alert",key:u},"✗ ",w(p,240))),i?.ok&&n("span",{class:"ok small",role:"status"},"✓ ",a(i))),n("button",{disabled:l,onClick:c},r(l?"models.busy":o)))}var bo=({title:e,empty:t,of:s,act:o,Row:a})=>n("section",null,n("h2",null,e),s.status!=="ready"?n(me,{of:s,retry:()=>o.loadPlace()}):s.items.length?n("ul",{class:"list"},s.items.map(i=>n(a,{key:i.id||i.path,one:i}))):n("p",{class:"muted"},t)),ai=({one:e})=>n(wo,{ask:()=>K("/models/test",{model:e.id}),word:"models.test",good:t=>r("models.works",{time:Ze(t.duration_ms)})},n("span",{class:"code strong",title:b(e.id)},w(e.id,44)),e.current&&[" ",n("span",{class:"tag"},r("models.used"))],n("span",{class:"muted small"},r("models.window",{n:ve(e.context_window)}),e.input_usd!==null&&` · ${r("models.price",{input:Se(e.input_usd),output:Se(e.output_usd??0)})}`)),ii=({one:e})=>n(wo,{ask:()=>K(`/teams/${encodeURIComponent(e.alias)}/check`),word:"teams.check",good:()=>r("teams.ok"),problem:e.problem},n("span",{class:"strong"},w(e.name||e.alias,44))," ",n("span",{class:"muted"},w(e.description,120)),n("span",{class:"muted small"},w(e.members.join(", "),120)));function ri(){let[e,t,s]=ko(()=>Y("/doctor"));return n("section",null,n("h2",null,r("doctor.title")),e?.error&&n(ke,{problem:e.error,retry:s}),e?.checks&&n("ul",{class:"list"},e.checks.map(o=>n("li",{key:o.name,class:`place-row is-${o.state}`},n(Q,{is:si[o.state]||"·"}),n("span",{class:"hidden"},H("check",o.state)),n("span",null,n("span",{class:"strong"},b(o.name))," ",b(o.detail),o.advice&&n("span",{class:"muted small"},b(o.advice)))))),t?n(ot,null):n("button",{onClick:s},r("doctor.run")))}function li(){let e=As("/config/origins",({items:t})=>t);return e&&n("section",null,n("h2",null,r("config.title")),n(ne,{title:r("config.show",{n:e.length})},n(ue,{rows:e.map(({key:t,value:s,source:o})=>[n("span",{class:"code"},b(t)),[n("span",{class:"code pre"},b(typeof s=="string"?s:JSON.stringify(s)))," ",n("span",{class:"muted"},b(o))]])})))}var Ps=150,qs=2e4,Ds=24,ci=new Set(["assistant_message","tool_start","tool_end","turn_end","wait","permission_request","file_changed","usage"]),js=class{constructor(){Object.assign(this,{bars:[],open:null,calls:new Map,overs:[],marks:[],at:0})}begin(t,s,o=""){this.finish(s),this.open={kind:t,from:s,to:s,word:o}}finish(t){this.open&&(this.open.to=t,t>this.open.from&&this.bars.push(this.open),this.open=null)}cover(t,s,{call_id:o,deadline:a},i){this.overs.push({kind:t,from:s,to:s,call:o,word:B(i),until:Date.parse(B(a))||0})}uncover(t,s){this.bars.push(...this.overs.filter(t).map(o=>({...o,to:s}))),this.overs=this.overs.filter(o=>!t(o))}close(t){this.uncover(()=>!0,t),this.finish(t),this.calls.clear()}};function vo(e){let t=new Map,s=[],o=e.length?Date.parse(e[0].ts):0,a=o,i=e.length>0&&e[0].seq>1,l=c=>(t.has(c)||t.set(c,new js),t.get(c));for(let c of e){a=Math.max(a,Date.parse(c.ts)||a);let{agent_id:d,type:p,data:u}=c;if(p==="message"&&(u.from!=="user"||!u.origin||u.origin==="user")&&(s.push({seq:c.seq,at:a,from:B(u.from),to:B(u.to),kind:B(u.kind)}),u.from!=="user"&&l(B(u.from))),p==="session_resumed")for(let f of t.values())f.close(f.at||a);if(!d)continue;let h=l(d);i&&!h.at&&ci.has(p)&&h.begin("work",o),Object.hasOwn(xo,p)&&xo[p](h,a,u),h.at=a}return{lanes:t,arrows:s,start:o,end:a}}var xo={turn_start(e,t){e.close(t),e.begin("work",t)},turn_end(e,t,{status:s}){e.close(t),s!=="completed"&&e.marks.push(t)},agent_ended(e,t){e.close(t)},tool_start(e,t,{id:s,name:o}){e.calls.set(s,o),e.open?.kind!=="tool"&&e.begin("tool",t,B(o))},tool_end(e,t,{id:s,ok:o}){e.uncover(a=>a.call===s,t),e.calls.delete(s),o||e.marks.push(t),e.calls.size?e.open&&(e.open.word=B([...e.calls.values()].pop())):e.begin("work",t)},wait(e,t,s){e.cover("waits",t,s,s.on)},permission_request(e,t,s){e.cover("asks",t,s,s.tool)},permission_decision(e,t,{call_id:s}){e.uncover(o=>o.kind==="asks"&&o.call===s,t)}};function So(e,t,s){let o=[t];for(let d of e){let p=Date.parse(d.ts);p>o[o.length-1]&&p<s&&o.push(p)}s>o[o.length-1]&&o.push(s);let a=[0];for(let d=1;d<o.length;d+=1){let p=o[d]-o[d-1];a.push(a[d-1]+(p<=qs?p:qs*(1+Math.log2(p/qs)/2)))}let i=a[a.length-1]||1,l=(d,p)=>{let u=0,h=d.length-1;for(;u<h-1;){let f=u+h>>1;d[f]<=p?u=f:h=f}return u},c=(d,p,u)=>{if(d.length<2)return 0;let h=Math.min(Math.max(u,d[0]),d[d.length-1]),f=l(d,h),m=(h-d[f])/(d[f+1]-d[f]||1);return p[f]+m*(p[f+1]-p[f])};return{place:d=>c(o,a,d)/i,moment:d=>c(a,o,d*i)}}function $o(e,t){let s=e.filter(c=>Date.parse(c.ts)<t&&c.agent_id);if(!s.length)return null;let o=s[0].seq,a=s[s.length-1].seq+1,i=new Map,l=1;for(let c of s){let d=Math.floor((c.seq-o)/(a-o)*Ds);i.has(c.agent_id)||i.set(c.agent_id,new Array(Ds).fill(0));let p=i.get(c.agent_id);p[d]+=1,l=Math.max(l,p[d])}return{rows:i,most:l,buckets:Ds}}var fe=24,Ut=72,Ns=14,Co={from:0,to:1},di=["work","tool","waits","asks"],ui=[1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,14400,43200,86400].map(e=>e*1e3);function pi(e){if(e.agents.length<=8)return e.agents;let t=s=>e.questions.some(o=>o.agent_id===s.id)?0:se(s)?1:s.status==="ended"?3:2;return e.agents.map((s,o)=>[t(s),o,s]).sort((s,o)=>s[0]-o[0]||s[1]-o[1]).map(s=>s[2])}function Eo({board:e,events:t,tick:s,now:o,until:a,selected:i,select:l}){let c=pi(e),d=c.length>10&&innerWidth>900,p=d?32:44,u=J(null),[h,f]=C(720),[m,_]=C(Co),[y,k]=C("");bt(()=>{let x=()=>u.current&&f(Math.max(160,u.current.clientWidth));x();let P=new ResizeObserver(x);return P.observe(u.current),()=>P.disconnect()},[]);let g=c.map(x=>x.id).join(),$=he(()=>fi({board:e,events:t,rows:c,height:p,width:h,view:m,until:a,selected:i}),[s,g,h,m,a,p,i]);I(()=>_(Co),[e.id]);let O=x=>{let{from:P,to:R}=m,z=R-P,U={ArrowLeft:[-z/4,-z/4],ArrowRight:[z/4,z/4],"+":[z/4,0],"=":[z/4,0],"-":[-z/2,0],0:[-1,1]}[x.key];if(!U||x.ctrlKey||x.metaKey)return;x.preventDefault();let we=Math.min(1,Math.max(.02,z+U[1]-U[0])),E=Math.min(1,Math.max(we,R+U[1]));_({from:Math.max(0,E-we),to:E})},S=x=>{let{left:P,top:R}=x.currentTarget.getBoundingClientRect();k($.tell(x.clientX-P,x.clientY-R-fe))};return n("div",{class:`lanes${d?" dense":""}`},n("div",{class:"lanes-scroll"},n("div",{class:"lanes-names",role:"group","aria-label":r("team.agents"),onKeyDown:It},n("div",{class:"axis","aria-hidden":"true"}),c.map((x,P)=>n("button",{key:x.id,"data-stop":!0,class:`lane-name${i===x.id?" on":""}${x.status==="ended"?" over":""}`,"aria-pressed":i===x.id,tabindex:i===x.id||!i&&P===0?0:-1,onClick:()=>l(x.id)},n(ye,{board:e,id:x.id}),n("span",{class:"lane-words"},n(be,{board:e,id:x.id,length:d?15:19}),n(Rt,{board:e,row:x,now:o}))))),n("div",{class:"lanes-box",ref:u,tabindex:"0",role:"group","aria-label":r("lanes.label"),onKeyDown:O,onPointerMove:S,onPointerLeave:()=>k("")},$.svg)),n("div",{class:"lanes-foot muted"},n("span",{class:"clip","aria-hidden":"true"},y||r("lanes.hint")),n("span",{class:"legend","aria-hidden":"true"},di.map(x=>[n("span",{class:`key ${x}`,key:x}),r(`lanes.${x}`)," "]),["ask","task","response"].map(x=>[n("svg",{class:`arrow ${x}`,width:"24",height:"8",key:x},n("path",{d:"M0 4H23"})),r(`mail.${x}`)," "]))),n(mi,{board:e,rows:c,now:o,arrows:$.arrows}))}function mi({board:e,rows:t,now:s,arrows:o}){let a=(i,l,c)=>n("table",null,n("caption",null,i),n("thead",null,n("tr",null,l.map(d=>n("th",{scope:"col",key:d},d)))),n("tbody",null,c.map((d,p)=>n("tr",{key:p},d.map(u=>n("td",null,b(u)))))));return n("div",{class:"hidden"},a(r("lanes.table"),[r("by.agent"),r("state"),r("since")],t.map(i=>{let l=jt(e,i);return[i.name,l.word,oe(s-Date.parse(l.since))]})),a(r("lanes.mail"),[r("time"),r("from"),r("to"),r("kind")],o.slice(-20).map(i=>[$e(i.at),Z(e,i.from),Z(e,i.to),H("mail",i.kind)])))}function fi({board:e,events:t,rows:s,height:o,width:a,view:i,until:l,selected:c}){let{lanes:d,arrows:p,start:u,end:h}=vo(t),f=p.slice(-Ps),m=p.length>Ps?f[0].at:u,_=m>u||t[0]?.seq>1?$o(t,m):null,y=_?Ut:0,k=Math.max(l||0,h,m+1),g=So(t,m,k),$=a-y-Ns*2,O=T=>y+Ns+(g.place(T)-i.from)/(i.to-i.from)*$,S=new Map(s.map((T,v)=>[T.id,v*o])),x=T=>S.get(T)+o/2,P=T=>Math.min(Math.max(T,y),a),R=[],z=[],U=o>=40?18:14;s.forEach(T=>{let v=d.get(T.id);if(!v)return;let N=[v.open,...v.overs].filter(Boolean).map(q=>({...q,to:k,open:!0})),L={work:"",tool:"",waits:"",asks:"",deadline:"",cross:""};for(let q of[...v.bars,...N]){if(q.to<m)continue;let j=P(O(Math.max(q.from,m))),Oe=P(O(q.to));if(Oe<=y||j>=a)continue;let ze=Math.max(Oe-j,1.5),lt=fe+x(T.id)-U/2;L[q.kind]+=`M${j.toFixed(1)} ${lt}h${ze.toFixed(1)}v${U}h-${ze.toFixed(1)}z`,q.until&&q.open&&q.until<=k&&(L.deadline+=`M${P(O(q.until)).toFixed(1)} ${lt-3}v${U+6}`),z.push({left:j,right:j+ze,row:T,bar:q})}let F=-9;for(let q of v.marks){let j=O(q);q<m||j<=y||j<F||(L.cross+=`M${(j-3).toFixed(1)} ${fe+x(T.id)-3}l6 6m0-6l-6 6`,F=j+7)}R.push(n("g",{class:`lane hue-${Dt(e,T.id)}`,key:T.id},Object.entries(L).map(([q,j])=>j&&[(q==="waits"||q==="asks")&&n("path",{class:"paper",d:j}),n("path",{class:q,d:j,fill:q==="waits"?"url(#hatch)":void 0})]),_?.rows.get(T.id)?.map((q,j)=>q&&n("rect",{class:"density",key:j,x:j*(Ut-8)/_.buckets,width:(Ut-8)/_.buckets-.5,y:fe+x(T.id)+U/2-Math.max(2,q/_.most*U),height:Math.max(2,q/_.most*U)}))))});let we=f.filter(T=>O(T.at)>=y&&O(T.at)<=a).map(T=>{let v=T.from==="user";if(!S.has(T.to)||!v&&!S.has(T.from))return null;let N=O(T.at),L=fe+x(T.to),F=v?L-o/2-2:fe+x(T.from),q=L>F?1:-1,j=L-q*(U/2),Oe=v?F:F+q*(U/2);return n("g",{class:`arrow ${v?"prompt":T.kind}${c&&c!==T.from&&c!==T.to?" dim":""}`,key:T.seq},n("path",{d:`M${N.toFixed(1)} ${Oe}V${j-q*5}`}),n("path",{class:"head",d:`M${(N-3.5).toFixed(1)} ${j-q*6}h7l-3.5 ${q*6}z`}))}),E=hi(g,i,O,y,a),D=fe+s.length*o;return{svg:n("svg",{class:"lanes-svg",width:a,height:D,viewBox:`0 0 ${a} ${D}`,"aria-hidden":"true"},n("defs",null,n("pattern",{id:"hatch",width:"6",height:"6",patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},n("path",{class:"hatch",d:"M0 0V6"}))),s.map((T,v)=>n("path",{class:"rule",key:T.id,d:`M0 ${fe+v*o+.5}H${a}`})),E.map(T=>n("g",{key:T.at},n("path",{class:"tick",d:`M${T.x.toFixed(1)} ${fe-4}V${D}`}),n("text",{x:T.x+4,y:"15"},T.word))),_&&[n("path",{class:"past",d:`M${Ut-4}.5 ${fe}V${D}`}),n("text",{x:"2",y:"15"},r("lanes.older"))],R,we),arrows:f,tell:(T,v)=>{let N=s[Math.floor(v/o)];if(!N||v<0)return"";let L=z.filter(Wt=>Wt.row===N&&T>=Wt.left-2&&T<=Wt.right+2),F=L[L.length-1],q=qe(new Date(g.moment(i.from+(T-y-Ns)/$*(i.to-i.from))).toISOString());if(!F)return`${w(N.name,40)} · ${q}`;let{kind:j,word:Oe,from:ze,to:lt}=F.bar,Ho=j==="waits"?r("state.waits",{name:w(Z(e,Oe),40)}):j==="work"?r("state.thinking"):`${j==="asks"?`${r("state.asks")} `:""}${w(Oe,40)}`;return`${w(N.name,40)} · ${Ho} · ${oe(lt-ze)} · ${q}`}}}function hi(e,t,s,o,a){let i=e.moment(t.from),l=e.moment(t.to),c=ui.find(p=>(l-i)/p<=8),d=[];if(!(l>i)||!c)return d;for(let p=Math.ceil(i/c)*c,u=o-1;p<=l;p+=c){let h=s(p);if(h<=u||h>a-60)continue;let f=new Date(p);d.push({at:p,x:h,word:l-i<3e5?`${$e(f)}:${String(f.getSeconds()).padStart(2,"0")}`:$e(f)}),u=h+84}return d}function Mo({sessionStore:e,now:t,act:s,models:o,base:a,tick:i,words:l,facts:c}){let[d,p]=C(""),{replay:u}=e,h=he(()=>u?At(u.events):e.blocks,[u,e.blocks]),f=he(()=>u?{...e,live:new Map,first:0,offline:!0}:e,[u,e]);if(e.status!=="ready")return n(me,{of:e,retry:()=>s.reopen()});let{board:m,events:_}=u||e,y=!u&&!e.offline&&m.agents.some(se),k=y?t:Date.parse(m.updated)||0,g=m.agents.find(S=>S.id===d),$=m.agents[0]?.plan||[],O=n(ki,{head:e.board.seq,at:m.seq,ts:m.updated,live:!u,show:S=>e.show(S)});return m.agents.length?n("div",{class:"team"},n("section",{class:"team-main","aria-label":r("team.label")},n(gi,{board:m,act:s}),u&&n("p",{class:"box",role:"status"},r("replay.shown",{seq:m.seq})),n(Eo,{board:m,events:_,tick:i,now:k,until:y?Math.floor(t/5e3)*5e3:0,selected:d,select:S=>p(S===d?"":S)}),n("div",{class:"team-strip"},$.length>0&&n("section",{class:"strip-plan","aria-label":r("plan")},n("h2",null,r("plan")),n(Ao,{steps:$})),n(_i,{board:m,base:a})),n(Os,{sessionStore:f,board:m,facts:c,words:l,only:d,act:null,blocks:h}),O),g&&n(bi,{key:g.id,board:m,row:g,now:k,act:u?null:s,models:o,base:a,close:()=>p("")})):n("section",{class:"team-main","aria-label":r("team.label")},n(ae,{words:r("team.empty")}),O)}function gi({board:e,board:{questions:t},act:s}){let o=t.length,a=o?[...new Set(t.map(i=>i.agent_id))].filter(Boolean):Fn(e);return!o&&!a.length?null:n("div",{class:`why${o?" asks":""}`,role:"status"},n("span",{class:"strong"},o?r("inbox.count",{n:o}):r("why"),a.length>0&&":"),n("span",{class:"why-chain"},a.map((i,l)=>n("span",{class:"row",key:l},l>0&&!o&&[n("span",{class:"muted","aria-hidden":"true"},"→"),n("span",{class:"hidden"},r("why.on"))],n(ye,{board:e,id:i}),n("span",null,n(be,{board:e,id:i,length:20}),o>0&&l<a.length-1&&","))),o===1&&n("span",{class:"code muted clip"},b(t[0].tool))),o>0&&s&&n(st,null))}function _i({board:{counts:e,files:t},base:s}){let o=[["mail",e.messages],["calls",e.calls],["failed",e.failed_calls],["files",t.length],["errors",e.errors],["denials",e.denials]];return n("ul",{class:"counts"},o.filter(([a,i])=>i||["mail","calls","files"].includes(a)).map(([a,i])=>n("li",{key:a,class:a==="errors"||a==="failed"?"error":""},n("a",{href:s&&`${s}/${a==="files"?"changes":"conversation"}`},n("span",{class:"num strong"},V(i))," ",r(`count.${a}`,{n:i})))))}var To={input_tokens:"card.fresh",cache_read_tokens:"card.read",cache_write_tokens:"card.written",output_tokens:"card.output"};function bi({board:e,row:t,now:s,act:o,models:a=[],close:i,base:l}){let[c,d]=ee(),{usage:p}=t,u=t.window?t.context/t.window:0,h=e.questions.find(g=>g.agent_id===t.id),f=t.status==="ended",m=g=>[ve(g),{class:"num",title:V(g)}],_=Object.keys(To).filter(g=>p[g]),y=[[r("card.role"),w(t.type,24),{title:b(t.type)}],[r("setup.model"),w(t.model,22),{title:b(t.model),class:"code"}],[r("by.turn"),t.turn?`${V(t.turn)} · ${r("conv.steps",{n:t.steps})}`:r("card.noTurn"),{class:"num"}],[r("card.window"),[n("progress",{max:"1",value:Math.min(1,u),"aria-label":r("card.window")})," ",Rn(u)],{class:"num",title:r("card.used",{used:t.context,all:t.window})}],[r("card.tokens"),...m(_.reduce((g,$)=>g+p[$],0))],..._.map(g=>[n("span",{class:"part"},r(To[g])),...m(p[g])]),[r("card.cost"),Mt(t),{class:"num"}],t.unread.length>0&&[r("card.unread"),V(t.unread.length),{class:"num"}]],k=(g,$)=>$.length>0&&[n("h3",null,g),n("ul",{class:"plain"},$)];return n("aside",{class:"card","aria-label":b(t.name)},n("header",{class:"row"},n("h2",{class:"grow row"},n(Ue,{board:e,id:t.id,length:19})),n(tt,{act:i})),n("p",null,n(Rt,{board:e,row:t,now:s})),h&&n("p",{class:"box asks"},n("span",{class:"code clip"},w(h.text,160)),o&&n(st,null)),t.error&&n("p",{class:"box error"},n("strong",{class:"code"},b(t.error.kind))," ",w(t.error.message,240)),f&&t.reason&&n("p",{class:"muted"},w(t.reason,200)),n(ue,{rows:y}),k(r("card.waits"),t.waits.map(g=>n("li",{key:g.message_id,class:"row"},n(Ue,{board:e,id:g.on}),n(We,{since:g.since,now:s})))),k(r("card.calls"),t.calls.slice(0,6).map(g=>n("li",{key:g.id,class:"code clip",title:b(g.subject)},w(g.name,20)," ",n("span",{class:"muted"},w(g.subject,60))))),t.plan.length>0&&[n("h3",null,r("plan")),n(Ao,{steps:t.plan})],o&&n("div",{class:"card-acts"},n("a",{class:"button",href:`${l}/conversation?agent=${t.id}`},r("nav.conversation")),n("a",{class:"button",href:`${l}/changes?agent=${encodeURIComponent(t.name)}`},r("nav.changes")),se(t)&&n("button",{disabled:c||t.stopping,onClick:()=>d(()=>o.interrupt(t.id))},r("stop")),!f&&n(re,{label:r("card.model"),hidden:!0,none:r("card.model"),of:a.map(g=>g.id),disabled:c,value:"",set:g=>g&&d(()=>o.changeModel(t.id,g))})))}var Oo={completed:"✓",in_progress:"▸",pending:"○"},Ao=({steps:e})=>n("ol",{class:"plan"},e.map((t,s)=>n("li",{key:s,class:`step ${Object.hasOwn(Oo,t.status)?t.status:""}`},n(Q,{is:Oo[t.status]||"·"}),n("span",null,n("span",{class:"hidden"},H("step",t.status),": "),b(t.text))))),yi=120;function ki({head:e,at:t,ts:s,show:o,live:a}){let[i,l]=C(!1),[c,d]=C(null),p=J(t);p.current=t,I(()=>{if(!i)return;let _=setInterval(()=>{p.current>=e?l(!1):o(p.current+1)},yi);return()=>clearInterval(_)},[i,e]),I(()=>d(null),[t]);let u=c??t,h=r("replay.at",{seq:u,head:e}),f=_=>{l(!1),d(Math.min(Math.max(_,1),e)),o(_)},m=()=>{!i&&t>=e&&o(1),l(!i)};return n("div",{class:"scrubber",role:"group","aria-label":r("replay.label")},n(et,{word:"replay.back",mark:"◀",disabled:t<=1,onClick:()=>f(t-1)}),n(et,{word:i?"replay.pause":"replay.play",mark:i?"❚❚":"▶",disabled:e<2,"aria-pressed":i,onClick:m}),n(et,{word:"replay.on",mark:"▶▏",disabled:t>=e,onClick:()=>f(t+1)}),n("input",{type:"range",min:"1",max:Math.max(1,e),value:u,"aria-label":r("replay.place"),"aria-valuetext":h,onInput:_=>f(Number(_.target.value))}),n("span",{class:"num scrub-at",title:h},V(u)," / ",V(e)," ",n("span",{class:"muted"},$e(s))),n("button",{class:a?"live on":"live","aria-pressed":a,onClick:()=>{l(!1),o(null)}},n(Q,{is:a?"●":"○"})," ",r("replay.live")))}var Is={team:Mo,conversation:mo,changes:eo},jo={sessions:Ms,inbox:go,settings:yo};function qo(e){let[t,s=""]=e.replace(/^#\/?/,"").split("?"),[o,a,i,l]=t.split("/").map(d=>decodeURIComponent(d)),c=Object.fromEntries(new URLSearchParams(s));return o==="s"&&/^[A-Za-z0-9_-]{1,64}$/.test(a||"")?{screen:"session",id:a,tab:Object.hasOwn(Is,i)?i:"team",seq:/^\d{1,15}$/.test(l||"")?Number(l):null,params:c}:{screen:Object.hasOwn(jo,o)?o:"sessions",params:c}}var Po=e=>{try{return e(localStorage)||""}catch{return""}},rt=e=>Po(t=>t.getItem(`planck.${e}`)),Do=(e,t)=>Po(s=>s.setItem(`planck.${e}`,t));function No(e){let t={status:"loading",items:[],next:null},s={access:"checking",route:{screen:"sessions",params:{}},sessionStore:null,now:Me.now(),toasts:[],help:!1,notices:[],me:null,inbox:{items:[],connection:"connecting",lostSince:0,ready:!1},sessions:t,models:t,teams:t,theme:rt("theme")||"auto",language:rt("language"),keys:rt("keys")||"on",problem:null},o=new qt(s,()=>Gt(n(Rs,{state:s,act:a}),e)),a=new Ls(o);a.applyLook(),addEventListener("hashchange",()=>a.go()),addEventListener("keydown",i=>a.press(i)),setInterval(()=>{document.visibilityState==="visible"&&o.set({now:Me.now()})},1e3),o.touch(),a.enter()}var Ro=e=>({sessionStore:e,tick:e.lanes,words:e.words,facts:e.facts});function Lo(e,{events:t,session:s={}}){let o=Qe.of(t,s),a="team",i=l=>{a=l,o.touch()};return o.touch=()=>Gt(n("div",{class:"app"},n("header",{class:"topbar"},n("div",{class:"where"},n("h1",{class:"clip"},n("bdi",null,b(o.board.name||s.name||o.board.id)))),n("nav",{class:"tabs","aria-label":r("nav.session")},["team","conversation"].map(l=>n("button",{key:l,"aria-current":a===l?"page":void 0,onClick:()=>i(l)},r(`nav.${l}`))))),n("main",{class:"main"},n(Is[a],{...Ro(o),now:Date.parse(o.board.updated),act:null}))),e),o.touch(),o}var Rs=class extends le{componentDidCatch(t){this.setState({problem:t})}render({state:t,act:s}){let{sessionStore:o,route:a,inbox:i,now:l}=t;if(this.state.problem)return n("main",{class:"page"},n(ke,{problem:this.state.problem,retry:()=>location.reload()}));if(t.access!=="in")return n(xi,{state:t,act:s});let c=d=>{d.preventDefault(),document.getElementById("main").focus()};return n("div",{class:`app at-${a.screen}`},n("a",{class:"skip",href:"#main",onClick:c},r("skip")),n(Vn,{state:t,act:s}),n(zn,{sessionStore:o,inbox:i,now:l}),n("main",{class:"main",id:"main",tabindex:"-1"},n(wi,{state:t,act:s})),n(Kn,{items:t.toasts,dismiss:d=>s.dismiss(d)}),n("div",{class:"hidden","aria-live":"polite"},o?.finished?b(o.finished.slice(0,1e3)):""),t.help&&n(Gn,{close:()=>s.store.set({help:!1})}))}};function wi({state:e,act:t}){let{sessionStore:s,now:o,models:a,route:{screen:i,tab:l,seq:c,params:d}}=e;if(!s)return n(jo[i]||Ms,{state:e,act:t});let p=l==="changes"?`${s.id}?${d.call||d.agent}`:s.id;return n(Is[l],{key:p,...Ro(s),now:o,act:t,base:`#/s/${s.id}`,models:a.items,seq:c,agent:d.agent,params:d})}function xi({state:{access:e,problem:t},act:s}){return e==="checking"?n("main",{class:"door","aria-busy":"true"},n("span",{class:"hidden"},r("loading"))):n("main",{class:"door"},n("h1",null,r("door.title")),e==="problem"?n(ke,{problem:t,retry:()=>s.enter()}):[n("p",null,r("door.words")),n("p",null,n("code",null,"planck serve --open")),n("form",{class:"row",onSubmit:ie(({code:o})=>s.redeem(o))},n("input",{name:"code",class:"grow",autocomplete:"off","aria-label":r("door.code"),placeholder:r("door.code"),required:!0,maxlength:"128"}),n("button",{class:"primary"},r("door.enter"))),t&&n("p",{class:"error"},r("door.bad"))])}var Ls=class{constructor(t){this.store=t,this.announced=new Set,this.asked={}}get state(){return this.store.state}async enter(){let t=/^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);t&&(history.replaceState(null,"",`${location.pathname}#${t[2]||"/sessions"}`),await K("/auth/code",{code:t[1]}).catch(()=>{}));try{let s=qo(location.hash);s.screen==="session"&&this.store.set({route:s,sessionStore:this.makeSessionStore(s.id)});let o=await Y("/me");this.store.set({access:"in",me:o,problem:null,language:rt("language")||o.locale}),this.applyLook(),this.followInbox(),this.load("models"),Y("/notices").then(({items:a})=>this.store.set({notices:a}),()=>{}),this.go()}catch(s){this.store.set({access:"problem",problem:s}),this.checkOut(s)}}checkOut({status:t}){t===401&&this.store.set({access:"out",problem:null})}async redeem(t){try{await K("/auth/code",{code:t.trim()}),await this.enter()}catch(s){this.store.set({access:"out",problem:s})}}go(){if(this.state.access!=="in")return;let t=qo(location.hash),s=this.state.route,{sessionStore:o}=this.state;o?.id!==t.id&&(o?.close(),o=t.id?this.makeSessionStore(t.id):null),this.store.set({route:t,sessionStore:o}),this.setTitle(),(s.screen!==t.screen||s.tab!==t.tab)&&document.getElementById("main")?.scrollTo(0,0)}makeSessionStore(t){let s=new Qe(t,()=>{this.state.sessionStore===s&&this.setTitle(),this.store.touch()});return s.onreset=()=>this.reopen(),s.open(),s}reopen(){let{sessionStore:t}=this.state;t.close(),this.store.set({sessionStore:this.makeSessionStore(t.id)})}async attempt(t){try{return await t(),null}catch(s){return this.checkOut(s),this.tell(s.kind||"internal_error",s.message||r("error.away"),"error"),s}}tell(t,s,o=""){let a=Xt();this.store.set({toasts:[...this.state.toasts.slice(-3),{id:a,title:t,words:s,kind:o}]}),setTimeout(()=>this.dismiss(a),o==="error"?12e3:6e3)}dismiss(t){this.store.set({toasts:this.state.toasts.filter(s=>s.id!==t)})}async load(t,s=`/${t}`,o=[]){let a={};this.asked[t]=a;let i=l=>{this.asked[t]===a&&this.store.set({[t]:{...this.state[t],...l}})};this.state[t].status==="error"&&i({status:"loading"});try{let{items:l,next:c}=await Y(s);i({status:"ready",items:[...o,...l],next:c})}catch(l){i({status:"error",items:[],next:null,problem:l})}}loadPlace(){this.load("models"),this.load("teams")}loadSessions(t,s={},o=[]){return this.load("sessions",`/sessions${Je({q:t.trim().slice(0,200),limit:50,...s})}`,o)}moreSessions(t){return this.loadSessions(t,{cursor:this.state.sessions.next},this.state.sessions.items)}changeRows(t){let{sessions:s}=this.state;this.store.set({sessions:{...s,items:s.items.flatMap(t)}})}replace(t){this.changeRows(s=>s.id===t.id?t:s)}start(t){let s=Object.fromEntries(Object.entries(t).filter(([,o])=>o!==""));return s.max_budget_usd&&(s.max_budget_usd=Number(s.max_budget_usd)),this.attempt(async()=>{location.hash=`#/s/${(await K("/sessions",s)).id}/team`})}rename(t,s){return this.attempt(async()=>this.replace(await wt(`/sessions/${t}`,{name:s})))}deleteSession(t){return this.attempt(async()=>{await Zt(`/sessions/${t}`),this.changeRows(s=>s.id===t?[]:s)})}fork(t,s){return this.attempt(async()=>{let o=await K(`/sessions/${t}/fork`,s?{at:s}:{});this.tell(o.name,r("fork.made")),location.hash=`#/s/${o.id}/conversation`})}get place(){return`/sessions/${this.state.sessionStore.id}`}prompt(t,s={}){let{sessionStore:o}=this.state;return this.attempt(async()=>{await K(`${this.place}/prompts`,{text:t,...s}),o.wake()})}goOnFrom(t,s){let{place:o,state:{sessionStore:a}}=this,i=()=>new Promise(l=>setTimeout(l,200));return this.attempt(async()=>{await K(`${o}/interrupt`);for(let l=50;l>0&&a.board.agents.some(se);l-=1)await i();for(let l=10;;l-=1)try{await K(`${o}/rewind`,{to:Math.max(0,t-1)});break}catch(c){if(c.status!==400||l<=0)throw c;await i()}a.wake(),s&&await K(`${o}/prompts`,{text:s})})}interrupt(t){return this.attempt(()=>K(`${this.place}/interrupt`,{agent:t}))}changeMode(t){return this.attempt(()=>wt(this.place,{mode:t}))}changeModel(t,s){return this.attempt(()=>wt(`${this.place}/agents/${encodeURIComponent(t)}`,{model:s}))}followInbox(){this.inboxStream?.close();let t=s=>this.state.inbox.items.filter(o=>o.id!==s);this.settle=s=>this.changeInbox({items:t(s)}),this.inboxStream=new He(()=>"/inbox/events",{live:()=>this.changeInbox({items:[],ready:!0}),question:s=>{this.changeInbox({items:[...t(s.id),s]}),this.announce(s)},settled:({id:s})=>this.settle(s),session:s=>this.replace(s),state:s=>{this.changeInbox({connection:s,lostSince:s==="lost"?this.state.inbox.lostSince||Me.now():0}),s==="lost"&&Y("/me").catch(o=>this.checkOut(o))}})}changeInbox(t){this.store.set({inbox:{...this.state.inbox,...t}}),this.setTitle()}announce(t){if(this.announced.has(t.id)||(this.announced.add(t.id),document.visibilityState==="visible"||!this.notifies))return;let s=new Notification(r("inbox.asks",{agent:b(t.agent).slice(0,80)}),{body:b(t.text).slice(0,200),tag:t.id});s.onclick=()=>{focus(),location.hash="#/inbox"}}answer({id:t,digest:s},o,a){return this.attempt(async()=>{await K(`/approvals/${t}`,{digest:s,allow:o,...a}),this.settle(t)})}setTitle(){let{inbox:{items:t},sessionStore:s,route:o}=this.state,a=s?.board.name||(o.screen==="session"?"":r(`nav.${o.screen}`));document.title=`${t.length?`(${t.length}) `:""}${a?`${b(a).slice(0,80)} · `:""}Planck`}setLook(t){for(let[s,o]of Object.entries(t))Do(s,o);this.store.set(t),this.applyLook()}applyLook(){let{theme:t,language:s}=this.state,o=document.documentElement;o.dataset.theme=t,o.lang=ms(s),this.store.set({language:o.lang})}async setNotify(t){let s=t&&globalThis.Notification&&await Notification.requestPermission()==="granted";Do("notify",s?"on":"off"),this.store.touch()}get notifies(){return rt("notify")==="on"&&globalThis.Notification?.permission==="granted"}async leave(){await this.attempt(()=>Zt("/auth")),this.inboxStream?.close(),this.state.sessionStore?.close(),this.store.set({access:"out",sessionStore:null,problem:null})}press(t){let{target:s,key:o}=t,{sessionStore:a,keys:i}=this.state,l=document.querySelector("dialog[open]");if(i==="off"||l||t.defaultPrevented||t.ctrlKey||t.metaKey||t.altKey||s.closest?.("input, textarea, select"))return;let c=a&&`#/s/${a.id}`,d={i:"#/inbox",s:"#/sessions",...a&&{t:`${c}/team`,c:`${c}/conversation`,d:`${c}/changes`}},p={"/":"find",m:"composer"};if(o==="?")this.store.set({help:!0});else if(Object.hasOwn(d,o))location.hash=d[o];else if(Object.hasOwn(p,o))document.getElementById(p[o])?.focus();else if(o==="X"&&a)this.interrupt("");else return;t.preventDefault()}};var Fo=e=>JSON.parse(document.getElementById(e)?.textContent||"null"),Io=Fo("planck-events"),Bo=document.getElementById("app");Io?Lo(Bo,{events:Io,session:Fo("planck-session")}):No(Bo);})();
